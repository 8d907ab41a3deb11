"""Signatures: who made a block, whether it is whole, and whether the latest message is as it was (R33, R34)."""

import base64
import copy
from typing import Any

import pytest

from clew.simulator.anthropic.judge.signatures import make_signature, read_signature
from clew.simulator.identity import signing_key
from clew.simulator.interfaces import Books
from clew.simulator.server import stance
from tests.manifest import accepts, proves, refuses
from tests.simulator.judging import TOOL, ask, assistant, call, named, result, user
from tests.simulator.talks import Redact, Talk, Think

INVALID = "%s: Invalid `signature` in `thinking` block"
MODIFIED = (
    "%s: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
    "These blocks must remain as they were in the original response."
)


def simple(model: str = "claude-opus-5", *blocks: Any) -> Talk:
    return Talk(model=model).ask("Hi.").reply(*(blocks or (Think("Hm."), "Hello."))).ask("Go on.")


def with_block(talk: Talk, message: int, index: int, **changes: Any) -> Talk:
    other = talk.copy()
    other.block(message, index).update(changes)
    return other


# ── R33


@refuses("rule:R33.empty-block")
def test_a_block_without_text_and_signature_must_contain_thinking() -> None:
    """R33: live probe M4."""
    path = "messages.1.content.0.thinking"
    violation = with_block(simple(), 1, 0, thinking="", signature="").judged().violation
    assert named(violation) == ("R33.empty-block", path, f"{path}: each thinking block must contain thinking")


@accepts("rule:R33.empty-block", "rule:R33.empty-signature")
def test_a_block_without_text_is_legal_if_it_is_signed() -> None:
    """R33: the normal shape with display omitted."""
    assert simple("claude-opus-5", Think("Hm.", omitted=True), "Hello.").judged().violation is None


@refuses("rule:R33.empty-signature")
def test_a_text_without_signature_is_refused() -> None:
    """R33: maintainer's live test M5."""
    path = "messages.1.content.0"
    violation = with_block(simple(), 1, 0, signature="").judged().violation
    assert named(violation) == ("R33.empty-signature", path, INVALID % path)


def _cut(signature: str) -> str:
    return signature[:-4]


def _altered(signature: str) -> str:
    raw = bytearray(base64.b64decode(signature))
    raw[len(raw) // 2] ^= 1
    return base64.b64encode(raw).decode()


@pytest.mark.parametrize("spoil", [_cut, _altered, str.lower, lambda _: "EuYBCkQ"])
@refuses("rule:R33.invalid-signature")
def test_a_cut_altered_or_foreign_signature_is_refused_in_any_turn(spoil: Any) -> None:
    """R33: every replayed block is verified, also in turns that the model will not see."""
    talk = simple("claude-sonnet-4-5").reply("Well.").ask("And?")
    path = "messages.1.content.0"
    violation = with_block(talk, 1, 0, signature=spoil(talk.block(1, 0)["signature"])).judged().violation
    assert named(violation) == ("R33.invalid-signature", path, INVALID % path)


@pytest.mark.parametrize("signature", ["clew1.abc", "clew9.abc", "gemini é", '{"field":"reasoning"}'])
@refuses("rule:R33.foreign-signature")
def test_what_cannot_be_a_signature_of_claudes_is_refused_by_its_look(signature: str) -> None:
    """R33: base64 has no dot, no brace and no space."""
    path = "messages.1.content.0"
    violation = with_block(simple(), 1, 0, signature=signature).judged().violation
    assert named(violation) == ("R33.foreign-signature", path, INVALID % path)


@accepts("rule:R33.invalid-signature", "rule:R33.invalid-data", "rule:R33.foreign-signature")
def test_untouched_blocks_of_every_kind_are_taken_back() -> None:
    """R33, R42: thinking, redacted and omitted."""
    verdict = simple("claude-opus-5", Think("Hm."), Redact("Secret."), Think("So.", omitted=True), "Hello.").judged()
    assert verdict.violation is None
    assert [fate.fate for fate in verdict.prompt.blocks] == ["kept", "kept", "kept"]


@pytest.mark.parametrize("spoil", [_cut, _altered, lambda _: ""])
@refuses("rule:R33.invalid-data")
def test_altered_redacted_data_is_refused(spoil: Any) -> None:
    """R33: microsoft/vscode#318076."""
    talk = simple("claude-opus-5", Redact("Secret."), "Hello.")
    path = "messages.1.content.0"
    violation = with_block(talk, 1, 0, data=spoil(talk.block(1, 0)["data"])).judged().violation
    assert named(violation) == ("R33.invalid-data", path, f"{path}: Invalid `data` in `redacted_thinking` block")


@refuses("rule:R33.invalid-signature")
def test_redacted_data_is_no_signature() -> None:
    """R33: a proof of the other type of block proves nothing."""
    talk = simple("claude-opus-5", Redact("Secret."), "Hello.")
    talk.messages[1]["content"][0] = {"type": "thinking", "thinking": "", "signature": talk.block(1, 0)["data"]}
    violation = talk.judged().violation
    assert violation is not None
    assert violation.rule == "R33.invalid-signature"


@refuses("rule:R33.invalid-signature")
def test_two_vendors_refuse_each_others_blocks() -> None:
    """R43: foreign signatures are an R33 error; so is another seed."""
    talk = simple()
    path = "messages.1.content.0"
    for terms in ({"kind": "compat"}, {"seed": 1}):
        assert named(talk.judged(**terms).violation) == ("R33.invalid-signature", path, INVALID % path)
    theirs = Talk(model="qwen3-32b", terms={"kind": "compat"}).ask("Hi.").reply(Think("Hm."), "Hello.").ask("Go on.")
    assert theirs.judged().violation is None
    assert theirs.copy(model="claude-opus-5").judged(kind="anthropic").violation is not None


@accepts("rule:R33.invalid-signature")
def test_another_vendor_binds_its_blocks_to_nothing() -> None:
    """The kind `compat`: no bindings, to model, account or conversation."""
    talk = Talk(model="qwen3-32b", terms={"kind": "compat"}).ask("Hi.").reply(Think("Hm."), "Hello.").ask("Go on.")
    other = talk.copy(model="kimi-k3", more={"system": "Other."})
    other.messages[0] = user("Something else.")
    verdict = other.judged()
    assert verdict.violation is None
    assert [fate.fate for fate in verdict.prompt.blocks] == ["kept"]


def test_the_same_answer_to_the_same_request_has_the_same_signature() -> None:
    """The judge is pure: same arguments, same verdict."""
    assert simple().messages == simple().messages


def test_a_signature_opens_only_with_its_own_secret() -> None:
    """What is minted is verified, and nothing else is."""
    signature = simple().block(1, 0)["signature"]
    proof = read_signature(signing_key("anthropic", 0), signature, redacted=False)
    assert proof is not None
    assert make_signature(signing_key("anthropic", 0), proof[1]) == signature
    assert read_signature(signing_key("anthropic", 1), signature, redacted=False) is None
    assert read_signature(signing_key("anthropic", 0), signature, redacted=True) is None


def test_no_single_changed_byte_passes() -> None:
    """R33: tampered signatures are always rejected."""
    key, raw = signing_key("anthropic", 0), base64.b64decode(simple().block(1, 0)["signature"])
    for place in range(len(raw)):
        changed = bytearray(raw)
        changed[place] ^= 0x40
        assert read_signature(key, base64.b64encode(changed).decode(), redacted=False) is None


# ── R34


def looped() -> Talk:
    """A tool loop whose latest message has two rows of thinking."""
    talk = Talk(model="claude-opus-5", more={"tools": [TOOL]}).ask("Hi.")
    talk.reply(Think("First."), call()).ask(result())
    return talk.reply(Think("One."), Think("Two."), "Now.", Think("Three."), call("toolu_2")).ask(result("toolu_2"))


def arranged(order: list[int]) -> Talk:
    talk = looped()
    blocks = talk.messages[3]["content"]
    talk.messages[3]["content"] = [copy.deepcopy(blocks[place]) for place in order]
    return talk


ARRANGED = [
    ("as it was", [0, 1, 2, 3, 4], None),
    ("two exchanged", [1, 0, 2, 3, 4], 0),
    ("the first of a row left out", [1, 2, 3, 4], 0),
    ("rows exchanged", [3, 2, 0, 1, 4], 2),
    ("rows joined", [0, 1, 3, 2, 4], 2),
    ("a row left out altogether", [2, 3, 4], None),
    ("the last row left out", [0, 1, 2, 4], None),
    ("all left out", [2, 4], None),
    ("a block twice", [0, 0, 1, 2, 3, 4], 1),
    ("a block again further on", [3, 2, 3, 4], 2),
]


@pytest.mark.parametrize(("order", "at"), [case[1:] for case in ARRANGED], ids=[case[0] for case in ARRANGED])
@refuses("rule:R34.modified")
@accepts("rule:R34.modified")
def test_the_latest_messages_thinking_stands_as_the_model_gave_it(order: list[int], at: int | None) -> None:
    """R34: no reorder, no gap, no joining; whole rows may go."""
    path = f"messages.3.content.{at}"
    expected = None if at is None else ("R34.modified", path, MODIFIED % path)
    assert named(arranged(order).judged().violation) == expected


@refuses("rule:R34.modified")
def test_blocks_of_two_responses_may_not_be_joined() -> None:
    """R34: M3 V1, M6 C1: thinking hoisted to the front of a merged message."""
    talk = looped()
    first, second = talk.messages[1]["content"], talk.messages[3]["content"]
    hoisted = talk.copy()
    hoisted.messages[1:4] = [assistant(first[0], *second), user(result("toolu_2"))]
    hoisted.messages[2:] = [user(result("toolu_2"))]
    path = "messages.1.content.1"
    assert named(hoisted.judged().violation) == ("R34.modified", path, MODIFIED % path)


@accepts("rule:R34.modified")
def test_two_merged_answers_may_stand_interleaved() -> None:
    """R34: `[thA, textA, thB, textB]` from two assistant messages was served (M3)."""
    talk = Talk(model="claude-opus-5").ask("Hi.").reply(Think("A."), "Ah.").ask("And?").reply(Think("B."), "Bah.")
    merged = talk.copy()
    merged.messages = [talk.messages[0], assistant(*talk.messages[1]["content"], *talk.messages[3]["content"]), user("So?")]
    assert merged.judged().violation is None
    apart = talk.copy()
    apart.messages = [talk.messages[0], talk.messages[1], talk.messages[3], user("So?")]
    assert apart.judged().violation is None


@accepts("rule:R34.modified", "rule:R34.text-edited")
def test_older_messages_are_not_compared() -> None:
    """R34: only the latest assistant message counts."""
    talk = looped()
    talk.messages[1]["content"][0]["thinking"] = "[cleared]"
    assert talk.judged().violation is None


@refuses("rule:R34.text-edited")
@proves("conflict:C-6")
def test_an_edited_text_in_the_latest_message_is_refused() -> None:
    """C-6: as documented; M5 and M15 saw 200."""
    talk = with_block(looped(), 3, 1, thinking="Two!")
    path = "messages.3.content.1"
    assert named(talk.judged().violation) == ("R34.text-edited", path, MODIFIED % path)
    assert talk.judged(stance=stance({"C-6": "accept"})).violation is None


@accepts("rule:R34.text-edited", "rule:R41")
def test_the_signature_is_the_same_with_and_without_the_text_and_the_text_may_be_left_out() -> None:
    """R41: display decides what a client sees, and nothing else."""
    omitted = simple("claude-opus-5", Think("Hm.", omitted=True), "Hello.")
    shown = simple("claude-opus-5", Think("Hm."), "Hello.")
    assert with_block(shown, 1, 0, thinking="").messages == omitted.messages
    assert omitted.judged().violation is None


@accepts("rule:R34.text-edited")
@refuses("rule:R34.text-edited")
def test_text_put_into_a_block_that_was_given_without_is_ignored() -> None:
    """R34: the block alone does not say so (R41), the vendor's books do."""
    filled = with_block(simple("claude-opus-5", Think("Hm.", omitted=True), "Hello."), 1, 0, thinking="Anything.")
    path = "messages.1.content.0"
    books = Books(omitted={filled.block(1, 0)["signature"]})
    assert filled.judged(books=books).violation is None
    assert named(filled.judged().violation) == ("R34.text-edited", path, MODIFIED % path)


@refuses("rule:R33.invalid-signature")
def test_a_refusal_names_the_blocks_up_to_the_one_that_it_refuses() -> None:
    """The journal can say which block it was."""
    talk = looped()
    talk.messages[3]["content"][1]["signature"] = "bm9uc2Vuc2U="
    fates = [(fate.path, fate.maker, fate.fate) for fate in talk.judged().prompt.blocks]
    assert fates == [
        ("messages.1.content.0", "claude-opus-5", "kept"),
        ("messages.3.content.0", "claude-opus-5", "kept"),
        ("messages.3.content.1", "", "refused"),
    ]


@accepts("rule:R33.invalid-signature")
def test_without_the_rules_grade_an_unknown_block_passes() -> None:
    """Grades can be switched off: then nothing is known of the block, and it is kept."""
    body = {
        "model": "claude-opus-5",
        "max_tokens": 9,
        "messages": [user("Hi."), assistant({"type": "thinking", "thinking": "Hm.", "signature": "x"}, "Hello."), user("?")],
    }
    verdict = ask(body, stance=stance({"without_grades": ["B"]}))
    assert verdict.violation is None
    assert [(fate.maker, fate.fate, fate.reason) for fate in verdict.prompt.blocks] == [("", "kept", "unverified")]
