"""A reader that takes its own back, whatever came before.

Every block of its realm goes back, unsealed, into its own message: from the recording, or from the seal itself where there
is no recording; all but what it refused once. For an answer that has none, the backend's row says what it accepts in its
place. What another realm made is left out, or handed over in the way that the target's policy names.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import UNSET

from clew.model.blocks import Block, Made, is_thinking, made, string_of
from clew.model.change import Change
from clew.model.json import JsonObject
from clew.model.recording import Recording
from clew.model.request import Request
from clew.model.target import Target
from clew.pipeline.step import Facts
from clew.pipeline.thinking.lighter import as_for_the_last
from clew.pipeline.thinking.other_dialect import in_anthropic_words
from clew.pipeline.thinking.pieces import STEP, Outcome, filtered, opened, refusal, restored
from clew.pipeline.thinking.refused import without_refused
from clew.thinking.history import AnswerPiece, align, holds_all
from clew.thinking.keys import key_of
from clew.thinking.recognise import RecognisedAnswer
from clew.thinking.seal import Seal

__all__ = ["UNRECORDED", "for_open"]

UNRECORDED = "made by a backend that nobody recorded"

_PLACEHOLDERS = {"empty": "", "space": " "}

LOST = "its recording is gone, and its seal holds only a reference"
MISSING = "this backend wants reasoning in every answer, and this one has none"


def for_open(request: Request, found: Sequence[RecognisedAnswer], target: Target, facts: Facts) -> list[Outcome]:
    own = (_own(request, each, target, facts) for each in found)
    if target.dialect != "anthropic":
        return as_for_the_last(found, list(own), target, facts)
    said = [in_anthropic_words(each, target) for each in own]
    return [_with_missing(each, target) for each in without_refused(found, said, target, facts)]


def _own(request: Request, each: RecognisedAnswer, target: Target, facts: Facts) -> Outcome:
    recording = each.recording
    if recording and recording.origin.realm == target.realm and _thought(recording):
        may = facts.options.restore or holds_all(each.pieces, recording)
        pieces = align(each.pieces, recording) if may else None
        if pieces is not None:
            return Outcome(pieces, restored(each, recording, pieces))
    return _unsealed(request, each, target, facts)


def _thought(recording: Recording) -> bool:
    """Whether there is any thinking in it. Not by its keys: what was hidden from the client has none."""
    return bool(recording.keys) or any(is_thinking(made(raw)) for raw in recording.blocks)


def _unsealed(request: Request, each: RecognisedAnswer, target: Target, facts: Facts) -> Outcome:
    """Without a recording that fits: what the seals themselves carry."""
    own = {id(piece.block): _native(piece.block, target, facts) for piece in each.pieces if is_thinking(piece.block)}
    rest = filtered(
        request,
        each,
        lambda block: "" if own[id(block)] else _why_not(block, each, target, facts),
        target=target,
        facts=facts,
    )
    pieces = tuple(AnswerPiece(piece.message, own.get(id(piece.block)) or piece.block) for piece in rest.pieces)
    return Outcome(pieces, rest.changes)


def _why_not(block: Block, each: RecognisedAnswer, target: Target, facts: Facts) -> str:
    """A vendor's own signature that nobody recorded is Anthropic's, or from before clew: never another realm's."""
    seal = opened(block, facts)
    if seal and seal.origin.realm == target.realm:
        return LOST
    return refusal(block, each, target, facts) or UNRECORDED


def _native(block: Block, target: Target, facts: Facts) -> Made | None:
    """The block as its maker wants it back; None if its seal is not of this realm, or refers to what nobody has."""
    seal = opened(block, facts)
    if seal is None or seal.origin.realm != target.realm:
        return None
    if seal.reference:
        return _referred(block, seal, facts)
    field = "signature" if block.type == "thinking" else "data"
    value: JsonObject = {"type": block.type}
    if block.thinking is not UNSET:
        value["thinking"] = string_of(block.thinking)
    return made(msgspec.json.encode({**value, field: seal.payload.decode()}))


def _referred(block: Block, seal: Seal, facts: Facts) -> Made | None:
    """What a seal refers to, from the recording under that very seal, whatever became of the answer around it."""
    recording = facts.recordings.by_key(key_of(block) or b"")
    own = [made(raw) for raw in recording.blocks] if recording else []
    return next((each for each in own if key_of(each) == seal.payload), None)


def _with_missing(outcome: Outcome, target: Target) -> Outcome:
    """Only in this dialect: others fill in fields."""
    placeholder = _PLACEHOLDERS.get(target.missing)
    if placeholder is None or not outcome.pieces or any(is_thinking(piece.block) for piece in outcome.pieces):
        return outcome
    at = outcome.pieces[0].message
    block = made({"type": "thinking", "thinking": placeholder, "signature": ""})
    change = Change(STEP, f"messages.{at}.content.0", "added", MISSING)
    return Outcome((AnswerPiece(at, block), *outcome.pieces), (*outcome.changes, change))
