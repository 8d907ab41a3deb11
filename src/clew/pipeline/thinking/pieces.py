"""The ways in which an answer's blocks can come out of a decision, each with its Changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from clew.errors import SealInvalid
from clew.model.blocks import Block, Made, filler, is_thinking, made, string_of, text_block
from clew.model.change import Change
from clew.model.origin import Origin
from clew.model.recording import Recording
from clew.model.request import Message, Request, blocks_of, with_content
from clew.model.target import Target
from clew.pipeline.step import Facts
from clew.thinking.history import AnswerPiece, align, holds_all
from clew.thinking.keys import block_key, key_of, proof_of
from clew.thinking.recognise import RecognisedAnswer
from clew.thinking.seal import Seal, is_seal

__all__ = ["STEP", "Outcome", "applied", "filtered", "opened", "refusal", "restored", "whole"]

STEP = "thinking"

UNSIGNED = "unsigned: no maker accepts it"
UNVERIFIED = "its seal does not verify"
DROPPED = "the client had left it out"
UNSEEN = "the client was given nothing to send back for it"
APART = "its answer came back in another shape"


class Outcome(Struct, frozen=True, eq=False):
    """What became of one answer: its pieces now, and why."""

    pieces: tuple[AnswerPiece, ...]
    changes: tuple[Change, ...] = ()


def applied(
    request: Request, found: Sequence[RecognisedAnswer], outcomes: Sequence[Outcome]
) -> tuple[Request, tuple[Change, ...]]:
    """The request with each answer's pieces back in its messages. A message that nothing touched is the same object."""
    touched = {
        index
        for before, after in zip(found, outcomes, strict=True)
        if not _same(before.pieces, after.pieces)
        for index in before.messages
    }
    now: dict[int, list[Block]] = {index: [] for index in touched}
    for outcome in outcomes:
        for piece in outcome.pieces:
            if piece.message in now:
                now[piece.message].append(piece.block)
    messages = list(request.messages)
    for index, blocks in now.items():
        messages[index] = _refilled(messages[index], tuple(blocks))
    return request.with_messages(tuple(messages)), tuple(change for each in outcomes for change in each.changes)


def _same(before: Sequence[AnswerPiece], after: Sequence[AnswerPiece]) -> bool:
    return len(before) == len(after) and all(a.block is b.block for a, b in zip(before, after, strict=True))


def _refilled(message: Message, blocks: tuple[Block, ...]) -> Message:
    own = blocks_of(message)
    if own and len(own) == len(blocks) and all(a is b for a, b in zip(own, blocks, strict=True)):
        return message
    return with_content(message, blocks or (filler(),))


def filtered(
    request: Request,
    each: RecognisedAnswer,
    why: Callable[[Block], str],
    *,
    target: Target | None = None,
    facts: Facts | None = None,
) -> Outcome:
    """The answer without the blocks that there is a reason against, each with its Change."""
    pieces: list[AnswerPiece] = []
    changes: list[Change] = []
    places: dict[int, str] = {}
    for piece in each.pieces:
        reason = why(piece.block) if is_thinking(piece.block) else ""
        if not reason:
            pieces.append(piece)
            continue
        told = _handed_over(piece.block, each, target, facts)
        if told is not None:
            pieces.append(AnswerPiece(piece.message, told))
        places = places or _places(request, each)
        changes.append(Change(STEP, places[id(piece.block)], "handed over" if told else "left out", reason))
    return Outcome(tuple(pieces), tuple(changes))


def _handed_over(block: Block, each: RecognisedAnswer, target: Target | None, facts: Facts | None) -> Block | None:
    """Another realm's thought where the policy says so: as plain text, or as an unsigned thought of the target's own.

    Text has no label: labels are refused as an attempt to extract reasoning, plain text is not. Whoever checks signatures
    is never given a thought without one.
    """
    if (
        target is None
        or facts is None
        or target.foreign == "drop"
        or (target.foreign == "native" and not target.takes_unsigned)
    ):
        return None
    origin = _origin_of(block, each, facts)
    text = string_of(block.thinking).strip() if origin and origin.realm != target.realm else ""
    if not text:
        return None
    return text_block(text) if target.foreign == "text" else made({"type": "thinking", "thinking": text, "signature": ""})


def _origin_of(block: Block, each: RecognisedAnswer, facts: Facts) -> Origin | None:
    if is_seal(proof := proof_of(block)):
        return _sealed_by(block, proof, facts)
    return each.recording.origin if each.recording else None


def _places(request: Request, each: RecognisedAnswer) -> dict[int, str]:
    """Where each block of an answer stands, by the block's identity."""
    return {
        id(block): f"messages.{index}.content.{at}"
        for index in each.messages
        for at, block in enumerate(blocks_of(request.messages[index]))
    }


def refusal(block: Block, each: RecognisedAnswer, target: Target, facts: Facts) -> str:
    """Why a block may not go into this realm as it is; "" if it may."""
    proof = proof_of(block)
    if not proof:
        return UNSIGNED
    if is_seal(proof):
        origin = _sealed_by(block, proof, facts)
        return f"made by {origin.backend}" if origin else UNVERIFIED
    if each.recording and each.recording.origin.realm != target.realm:
        return f"made by {each.recording.origin.backend}"
    return ""


def _sealed_by(block: Block, proof: str, facts: Facts) -> Origin | None:
    """Whose the sealed block is. It stays out either way, so a recording under its very seal is word enough."""
    recording = facts.recordings.by_key(block_key(block.type, proof))
    if recording is not None and recording.principal == facts.context.principal:
        return recording.origin
    seal = opened(block, facts)
    return seal.origin if seal else None


def opened(block: Block, facts: Facts) -> Seal | None:
    """What a block's seal says; None if it has none, or one that does not verify."""
    proof = proof_of(block)
    if facts.sealer is None or not is_seal(proof):
        return None
    try:
        return facts.sealer.open(proof, string_of(block.thinking), principal=facts.context.principal)
    except SealInvalid:
        return None


def whole(request: Request, each: RecognisedAnswer, recording: Recording) -> Outcome:
    """All of an answer's thinking: the client's copy if it is complete, else the recording's, in place; else none.

    A copy that holds its beginning, and does not line up, is one that was stopped: what the client has of it goes.
    """
    if holds_all(each.pieces, recording):
        return Outcome(each.pieces)
    pieces = align(each.pieces, recording)
    if pieces is not None:
        return Outcome(pieces, restored(each, recording, pieces))
    own = tuple(key for piece in each.pieces if (key := key_of(piece.block)))
    if own and own == recording.keys[: len(own)]:  # a client that stopped an answer never saw its end
        return filtered(request, each, lambda block: "" if proof_of(block) else UNSIGNED)
    return filtered(request, each, lambda block: APART)


def restored(each: RecognisedAnswer, recording: Recording, pieces: Sequence[AnswerPiece]) -> tuple[Change, ...]:
    """A Change for each block that the client did not send. What it holds under a seal was there all the time.

    What was hidden from it has no key; nor has what it holds without a signature, which is there then."""
    had = {key_of(piece.block) for piece in each.pieces if is_thinking(piece.block)}
    keys = iter(recording.keys)
    count: dict[int, int] = {}
    changes: list[Change] = []
    for piece in pieces:
        at = count.get(piece.message, 0)
        count[piece.message] = at + 1
        if isinstance(piece.block, Made) and is_thinking(piece.block) and (key := next(keys, None)) not in had:
            why = DROPPED if key else UNSEEN
            changes.append(Change(STEP, f"messages.{piece.message}.content.{at}", "restored", why))
    return tuple(changes)
