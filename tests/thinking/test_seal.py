"""Seals: minted, opened, rotated, and refused for any changed byte."""

import base64
import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clew.errors import SealInvalid, SettingsInvalid
from clew.model.events import data_of
from clew.model.origin import Origin
from clew.model.unfold import events_of
from clew.thinking.seal import MAX_SEALED, PREFIX, Seal, Sealer, is_seal, named_key
from tests.counts import examples
from tests.identity.hearing import heard
from tests.manifest import proves

GROK = Origin("openrouter", "grok", "x-ai/grok-code-fast-1", "acct-7f")
SEALER = Sealer({"k1": b"1" * 32}, "k1")
SEAL = Seal("local", GROK, "ex_01", 2, b'{"encrypted_content":"gAAA"}')
TEXT = "The user wants the sum. 2 + 2 = 4."
TOKEN = SEALER.mint(SEAL, TEXT)

texts = st.text(st.characters(codec=None), max_size=60)
names = st.text(st.characters(codec="utf-8"), max_size=20)
seals = st.builds(
    Seal,
    principal=names,
    origin=st.builds(Origin, names, names, names, names),
    exchange=names,
    index=st.integers(0, 2**31),
    payload=st.binary(max_size=200),
    reference=st.booleans(),
)


def refused(token: str, text: str = TEXT, *, principal: str = "local", sealer: Sealer = SEALER) -> str:
    with pytest.raises(SealInvalid) as error:
        sealer.open(token, text, principal=principal)
    return str(error.value).removeprefix("this seal does not open: ")


def flipped(raw: bytes, position: int, bits: int) -> bytes:
    return raw[:position] + bytes([raw[position] ^ bits]) + raw[position + 1 :]


def packed(raw: bytes) -> str:
    return PREFIX + base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def unpacked(token: str) -> bytes:
    body = token.removeprefix(PREFIX)
    return base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))


@proves("req:S3-32", "req:S3-33")
@settings(max_examples=examples(24, soak=1200))
@given(seals, texts)
@example(SEAL, "half a pair: \ud83d")
def test_a_seal_opens_to_what_was_sealed(seal: Seal, text: str) -> None:
    """Origin, exchange, index and payload come back as they went in, for any text, lone surrogates included (S3-33)."""
    assert SEALER.open(SEALER.mint(seal, text), text, principal=seal.principal) == seal


@proves("req:S3-32")
def test_a_seal_travels_as_one_plain_signature_delta() -> None:
    """Clients keep only the last of several signature_deltas (S0-46), so a seal is one JSON string without escapes."""
    delta = {"type": "signature_delta", "signature": TOKEN}

    assert json.dumps(delta) == f'{{"type": "signature_delta", "signature": "{TOKEN}"}}'
    assert set(TOKEN.removeprefix(PREFIX)) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


@proves("req:S3-32")
def test_a_sealed_answer_is_streamed_with_one_signature_delta_just_before_the_blocks_stop() -> None:
    """And the block that a client makes of the stream opens again, whatever the pieces."""
    answer = {"type": "message", "content": [{"type": "thinking", "thinking": TEXT, "signature": TOKEN}]}
    events = [json.loads(data_of(event)) for event in events_of(answer, chunk=5)]
    deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    kinds = [event["type"] for event in events]

    assert [delta["type"] for delta in deltas] == ["thinking_delta"] * 7 + ["signature_delta"]
    assert kinds[kinds.index("content_block_stop") - 1] == "content_block_delta"
    (block,) = heard(events)
    assert SEALER.open(block["signature"], block["thinking"], principal="local") == SEAL


@proves("req:S3-32")
def test_redacted_thinking_is_sealed_in_its_data_with_an_empty_text() -> None:
    """`redacted_thinking` shows no text, so its seal is over "" (design §4, Seal)."""
    block = {"type": "redacted_thinking", "data": SEALER.mint(SEAL, "")}

    assert SEALER.open(block["data"], "", principal="local") == SEAL


@proves("req:S3-33")
@pytest.mark.parametrize("bits", [0x01, 0x20, 0x80, 0xFF])
def test_every_changed_byte_under_the_base64_is_refused(bits: int) -> None:
    """Version, key id, origin, payload and MAC alike: all positions (S3-33)."""
    raw = unpacked(TOKEN)
    for position in range(len(raw)):
        refused(packed(flipped(raw, position, bits)))


@proves("req:S3-33")
@pytest.mark.parametrize("bits", [0x01, 0x04, 0x10])
def test_every_changed_character_of_the_token_is_refused(bits: int) -> None:
    """Also the last one, some of whose bits base64 ignores when it decodes (S3-33)."""
    raw = TOKEN.encode()
    for position in range(len(raw)):
        refused(flipped(raw, position, bits).decode())


@proves("req:S3-33")
@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5])
def test_a_last_character_that_decodes_to_the_same_bytes_is_refused(size: int) -> None:
    """base64url has several spellings for one value; a seal has one ("one changed byte is unknown")."""
    token = SEALER.mint(Seal("local", GROK, "ex", 0, b"x" * size), TEXT)
    for last in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_":
        if last != token[-1]:
            refused(token[:-1] + last)


@proves("req:S3-33")
@pytest.mark.parametrize("bits", [0x01, 0x02, 0x10])
def test_every_changed_byte_of_the_text_is_refused(bits: int) -> None:
    """The MAC covers the block's text (S3-33)."""
    raw = TEXT.encode()
    for position in range(len(raw)):
        refused(TOKEN, flipped(raw, position, bits).decode())


@proves("req:S3-33")
@settings(max_examples=examples(24, soak=1200))
@given(seals, texts, texts)
def test_a_seal_opens_on_no_other_text(seal: Seal, text: str, other: str) -> None:
    """A seal cannot be moved to another block of the same conversation."""
    token = SEALER.mint(seal, text)
    if other != text:
        assert refused(token, other, principal=seal.principal) == "it does not fit this block, or a byte was changed"


@proves("req:S3-33")
def test_every_truncation_is_refused() -> None:
    """A signature that a client or a network cut short is unknown, never an exception of another kind."""
    for length in range(len(TOKEN)):
        refused(TOKEN[:length])


@proves("req:S3-33")
@settings(max_examples=examples(24, soak=2000))
@given(st.one_of(st.binary(max_size=120).map(packed), st.text(st.characters(codec=None), max_size=80).map(PREFIX.__add__)))
def test_nothing_that_was_not_minted_opens(token: str) -> None:
    """Whatever stands after the prefix, the only outcome is SealInvalid."""
    refused(token)


@proves("req:S3-33")
@pytest.mark.parametrize(
    ("token", "why"),
    [
        ("", "it does not begin with 'clew1.'"),
        ("EqQBCgIYAhIkN2Y4", "it does not begin with 'clew1.'"),
        (TOKEN.replace("clew1.", "clew3."), "its version is not known here"),
        (TOKEN.replace("clew1.", "clew2."), "its layout version is not known here"),
        ("clew2." + packed(b"\x02" + b"k" * 32).removeprefix(PREFIX), "its key is not known here"),
        (TOKEN.replace("clew1.", "Clew1."), "it does not begin with 'clew1.'"),
        (packed(b"\x02" + unpacked(TOKEN)[1:]), "its layout version is not known here"),
        (PREFIX, "its layout version is not known here"),
        (packed(b"\x01"), "its key is not known here"),
        (packed(b"\x01" * 33), "its key is not known here"),
        (TOKEN + "=", "it is not base64url in its one canonical form"),
        (TOKEN + "\n", "it is not base64url"),
        (TOKEN + "é", "it is not base64url"),
        (PREFIX + "A", "it is not base64url"),
    ],
    ids=range(14),
)
def test_a_refusal_says_why(token: str, why: str) -> None:
    """An unknown version is unknown, and so is everything else that is not ours (S3-33)."""
    assert refused(token) == why


@proves("req:S3-33")
def test_a_token_longer_than_any_seal_is_refused_unread() -> None:
    """The bound comes before the decoding: a hostile client must not make us work."""
    assert refused(PREFIX + "A" * (MAX_SEALED * 2)) == "it is longer than any seal"


def test_a_seal_of_another_principal_is_refused() -> None:
    """Nothing is found across principals (design §2); the right text and key do not help."""
    assert refused(TOKEN, principal="alice") == "it belongs to another principal"


def test_the_current_key_mints_and_the_old_one_still_opens() -> None:
    """Rotation: clients go on holding seals of the old key."""
    rotated = Sealer({"k1": b"1" * 32, "k2": b"2" * 32}, "k2")

    new = rotated.mint(SEAL, TEXT)

    assert rotated.open(TOKEN, TEXT, principal="local") == SEAL
    assert rotated.open(new, TEXT, principal="local") == SEAL
    assert Sealer({"k2": b"2" * 32}, "k2").open(new, TEXT, principal="local") == SEAL
    assert refused(new) == "its key is not known here"


def test_a_seal_of_a_key_that_is_gone_or_another_secret_of_the_same_name_is_refused() -> None:
    """A thread that moves between two clews with different secrets: the seal counts as absent (identity §3)."""
    assert refused(TOKEN, sealer=Sealer({"k2": b"2" * 32}, "k2")) == "its key is not known here"
    assert refused(TOKEN, sealer=Sealer({"k1": b"2" * 32}, "k1")) == "it does not fit this block, or a byte was changed"


def test_a_byte_cannot_move_from_the_seal_into_the_text() -> None:
    """What is sealed and what is covered beside it are kept apart by a length, so the same row of bytes is not enough."""
    raw = unpacked(TOKEN)
    sealed, mac = raw[:-32], raw[-32:]

    moved = chr(sealed[-1]) + TEXT

    assert moved.encode() == sealed[-1:] + TEXT.encode()
    assert refused(packed(sealed[:-1] + mac), moved) == "it does not fit this block, or a byte was changed"


def test_minting_is_pure_and_no_two_blocks_get_the_same_seal() -> None:
    """Same input, same token (law 2); exchange and index make each block's its own (design §4, Seal)."""
    places = [("ex_01", 0), ("ex_01", 1), ("ex_02", 0), ("ex_0", 10)]
    tokens = [SEALER.mint(Seal("local", GROK, exchange, index), TEXT) for exchange, index in places]

    assert SEALER.mint(SEAL, TEXT) == TOKEN
    assert len(set(tokens)) == 4


@proves("case:60")
def test_a_payload_of_80_kB_comes_back_whole() -> None:
    """The largest signature that was seen to survive a client has 80,000 characters (clients 1.5)."""
    seal = Seal("local", GROK, "ex_01", 0, bytes(range(256)) * 313)

    assert len(seal.payload) > 80_000
    assert SEALER.open(SEALER.mint(seal, TEXT), TEXT, principal="local") == seal


def test_a_reference_comes_back_as_one() -> None:
    """500 blocks of 16 kB are 8 MB in each later request (identity §3); the store keeps what is larger."""
    reference = Seal("local", GROK, "ex_01", 0, b"k" * 32, reference=True)
    assert SEALER.open(SEALER.mint(reference, TEXT), TEXT, principal="local") == reference


def test_a_payload_over_the_bound_is_never_minted() -> None:
    """What `open` would refuse as oversized does not leave in the first place."""
    with pytest.raises(AssertionError, match="by reference"):
        SEALER.mint(Seal("local", GROK, "ex_01", 0, b"x" * MAX_SEALED), TEXT)


@pytest.mark.parametrize(
    ("signature", "ours"),
    [
        (TOKEN, True),
        (PREFIX, True),
        ("clew1.broken", True),
        ("clew9.AbCd", True),
        ("clew12.AbCd", True),
        ("clew.AbCd", False),
        ("clewx1.AbCd", False),
        ("clew1", False),
        ("", False),
        (" clew1.x", False),
        ("EqQB", False),
    ],
)
def test_ours_is_known_by_its_prefix_alone(signature: str, ours: bool) -> None:
    """What begins like a seal never goes to any backend, whatever its version, valid or not (design §4, Seal)."""
    assert is_seal(signature) is ours


@pytest.mark.parametrize(
    ("keys", "current", "why"),
    [
        ({}, "k1", "the current sealing key 'k1' is not among the keys"),
        ({"k1": b"short"}, "k1", "sealing key 'k1' has 5 bytes; it needs at least 32"),
        ({"": b"1" * 32}, "", "a sealing key's id has 1 to 255 bytes, not ''"),
    ],
)
def test_a_sealer_refuses_keys_that_cannot_protect(keys: dict[str, bytes], current: str, why: str) -> None:
    """A short secret would be the weakest part of the seal."""
    with pytest.raises(SettingsInvalid) as error:
        Sealer(keys, current)

    assert str(error.value) == why


# ── seals that bring the whole block

CLAUDE = Origin("anthropic", "claude", "claude-opus-5-5")
WHOLE = Seal("local", CLAUDE, "ex_01", 0, b"EqQBCgIYAhIk", kind="thinking", text=TEXT, key=b"k" * 32)
WHOLE_TOKEN = SEALER.mint(WHOLE)

wholes = st.builds(
    Seal,
    principal=names,
    origin=st.builds(Origin, names, names, names, names),
    exchange=names,
    index=st.integers(0, 2**31),
    payload=st.binary(max_size=200),
    reference=st.booleans(),
    kind=st.sampled_from(["thinking", "redacted_thinking"]),
    text=texts,
    key=st.binary(min_size=32, max_size=32),
)


@settings(max_examples=examples(24, soak=1200))
@given(wholes, texts)
@example(WHOLE, "half a pair: \ud83d")
def test_a_seal_of_a_whole_block_opens_whatever_text_the_client_has_beside_it(seal: Seal, beside: str) -> None:
    """Clients of other dialects drop, join and edit the text, so the seal brings it and counts on nothing else."""
    token = SEALER.mint(seal)

    assert is_seal(token)
    assert SEALER.open(token, beside, principal=seal.principal) == seal


@given(wholes)
def test_a_seal_of_a_whole_block_names_its_key_to_everybody(seal: Seal) -> None:
    """A recording is looked for before any secret is at hand."""
    assert named_key(SEALER.mint(seal)) == seal.key


@pytest.mark.parametrize(
    "proof", ["", TOKEN, "EqQBCgIYAhIk", "clew2.", "clew2.AAAA", "clew2." + "A" * 44, "clew2." + "é" * 60]
)
def test_any_other_proof_names_no_key(proof: str) -> None:
    assert named_key(proof) is None


@pytest.mark.parametrize("at", [7, 12, 60, 100, -40, -1])
def test_a_seal_of_a_whole_block_is_refused_for_any_changed_letter(at: int) -> None:
    letter = "B" if WHOLE_TOKEN[at] == "A" else "A"
    token = WHOLE_TOKEN[:at] + letter + (WHOLE_TOKEN[at + 1 :] if at != -1 else "")

    assert refused(token)


def test_a_seal_of_a_whole_block_opens_for_its_principal_alone() -> None:
    assert refused(WHOLE_TOKEN, principal="bob") == "it belongs to another principal"
