"""Headers and bytes."""

import json

from tests.conversations.mutations.moves import Catalogue, Move

steps = Catalogue()


@steps.breaks("R62.too-large")
def send_too_much(move: Move) -> None:
    """White space after a document is legal JSON, and counts."""
    move.raw = json.dumps(move.body).encode().ljust(32 * 1024 * 1024 + 1)


@steps.breaks("R2.version-missing")
def forget_the_version(move: Move) -> None:
    del move.headers["anthropic-version"]
    move.headers |= move.pick({}, {"anthropic-version": ""})


@steps.breaks("R2.version-unknown")
def misspell_the_version(move: Move) -> None:
    move.headers["anthropic-version"] = move.pick("2023-06-02", "latest", "vertex-2023-10-16")


@steps.breaks("R3.beta-unknown")
def invent_a_beta(move: Move) -> None:
    move.set_beta(move.pick("nope-2026-01-01", "EFFORT-2025-11-24"))


@steps.breaks("R4.body-empty")
def send_nothing(move: Move) -> None:
    move.raw = b""


@steps.breaks("R4.body-not-json")
def cut_the_body(move: Move) -> None:
    whole = json.dumps(move.body).encode()
    move.raw = whole[: move.pick(1, 2, len(whole) // 2, len(whole) - 1)]


@steps.breaks("R4.body-not-json")
def put_in_what_is_no_json(move: Move) -> None:
    whole = json.dumps(move.body)[:-1]
    wrong = move.pick("NaN", "-Infinity", "01", "[1,]", "tru", "'a'")
    move.raw = f'{whole}, "x": {wrong}}}'.encode()


@steps.breaks("R4.body-not-json")
def put_in_bytes_that_are_no_text(move: Move) -> None:
    whole = json.dumps(move.body).encode()[:-1]
    move.raw = whole + b', "x": "' + move.pick(b"\xff", b"\xc3", b"\xed\xa0\x80") + b'"}'


@steps.breaks("R4.body-not-json")
def nest_too_deep(move: Move) -> None:
    depth = move.pick(128, 200, 10_000)
    whole = json.dumps(move.body).encode()[:-1]
    move.raw = whole + b', "x": ' + b"[" * depth + b"]" * depth + b"}"


@steps.breaks("R63.lone-surrogate")
def leave_half_a_character(move: Move) -> None:
    message = move.pick(*move.spoken_by("user"))
    move.as_list(message).append({"type": "text", "text": move.pick("a\ud83e", "\udd79", "\udd79\ud83e")})


@steps.breaks("R63.lone-surrogate")
def name_a_key_with_half_a_character(move: Move) -> None:
    move.body["\ud800"] = 1


@steps.breaks("R4.body-not-object")
def send_no_object(move: Move) -> None:
    move.raw = move.pick(b"[]", b"null", b'"hi"', b"1", b"true")


MUTATIONS = tuple(steps.mutations)
