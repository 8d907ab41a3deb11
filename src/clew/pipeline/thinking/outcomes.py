"""What becomes of an answer's thinking blocks: kept, restored, handed over or left out, each with its Changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from clew.errors import SealInvalid
from clew.model.blocks import Block, Made, filler, is_thinking, made, string_of, text_block
from clew.model.change import Change
from clew.model.facts.shapes import can_be_claudes
from clew.model.origin import Origin, Target
from clew.model.recording import Recording
from clew.model.request import Request, blocks_of, with_blocks
from clew.pipeline.step import Facts
from clew.thinking.history import AnswerPiece, align, holds_all
from clew.thinking.keys import key_of, proof_of
from clew.thinking.recognise import RecognisedAnswer
from clew.thinking.seal import Seal, is_seal

STEP = "thinking"

UNSIGNED = "unsigned: no maker accepts it"
NO_SIGNATURE = "its signature is not Claude's"
UNVERIFIED = "its seal does not verify"
LOST = "its recording was deleted, and its seal holds only a reference"
DROPPED = "the client had left it out"
UNSEEN = "the client never got this block"
APART = "the client sent this answer back in another form"


class AnswerOutcome(Struct, frozen=True, eq=False):
    """What became of one answer: its pieces now, and the changes."""

    pieces: tuple[AnswerPiece, ...]
    changes: tuple[Change, ...] = ()


def apply_outcomes(
    request: Request, found: Sequence[RecognisedAnswer], outcomes: Sequence[AnswerOutcome]
) -> tuple[Request, tuple[Change, ...]]:
    """The request with each answer's pieces back in its messages. A message that nothing touched is the same object."""
    now: dict[int, list[Block]] = {}
    for before, after in zip(found, outcomes, strict=True):
        same = len(before.pieces) == len(after.pieces) and all(
            map(lambda old, new: old.block is new.block, before.pieces, after.pieces)
        )
        if not same:
            now |= {index: [] for index in before.messages}
    for outcome in outcomes:
        for piece in outcome.pieces:
            if piece.message in now:
                now[piece.message].append(piece.block)
    messages = list(request.messages)
    for index, blocks in now.items():
        messages[index] = with_blocks(messages[index], tuple(blocks) or (filler(),))
    return request.with_messages(tuple(messages)), tuple(change for each in outcomes for change in each.changes)


def newest_made_by(found: Sequence[RecognisedAnswer], target: Target) -> tuple[int, Recording | None]:
    """The newest answer that the target made itself: its index in `found` and its recording; None if there is none."""
    for at in range(len(found) - 1, -1, -1):
        recording = found[at].recording
        if recording and (recording.origin.backend, recording.origin.model) == (target.backend, target.model):
            return at, recording
    return 0, None


def leave_out_blocks(
    request: Request,
    each: RecognisedAnswer,
    why: Callable[[Block], str],
    *,
    target: Target | None = None,
    facts: Facts | None = None,
) -> AnswerOutcome:
    """The answer without the thinking blocks that there is a reason against, each with its Change.

    With `target` and `facts`, another realm's thoughts are handed over where the target's policy says so.
    """
    pieces: list[AnswerPiece] = []
    changes: list[Change] = []
    paths: dict[int, str] = {}
    for piece in each.pieces:
        reason = why(piece.block) if is_thinking(piece.block) else ""
        if not reason:
            pieces.append(piece)
            continue
        handed_over = _handed_over(piece.block, each, target, facts) if target and facts else None
        if handed_over is not None:
            pieces.append(AnswerPiece(piece.message, handed_over))
        paths = paths or {
            id(block): f"messages.{index}.content.{at}"
            for index in each.messages
            for at, block in enumerate(blocks_of(request.messages[index]))
        }
        changes.append(Change(STEP, paths[id(piece.block)], "handed over" if handed_over else "left out", reason))
    return AnswerOutcome(tuple(pieces), tuple(changes))


def without_refused_blocks(
    request: Request, each: RecognisedAnswer, target: Target, facts: Facts, also: Callable[[Block], str] = lambda block: ""
) -> AnswerOutcome:
    """The answer without the blocks that may not go into this realm, and without those that another reason keeps out."""

    def why(block: Block) -> str:
        return reason_against(block, each, target, facts) or also(block)

    return leave_out_blocks(request, each, why, target=target, facts=facts)


def _handed_over(block: Block, each: RecognisedAnswer, target: Target, facts: Facts) -> Block | None:
    """Another realm's thought where the policy says so: as plain text, or as an unsigned thought of the target's own.

    Text has no label: labels are refused as an attempt to extract reasoning, plain text is not. A target that checks
    signatures is never given a thought without one.
    """
    if target.foreign == "drop" or (target.foreign == "native" and not target.takes_unsigned):
        return None
    if is_seal(proof := proof_of(block)):
        origin = _sealed_by(block, facts)
    else:
        origin = each.recording.origin if each.recording else None
    is_other = origin is not None and origin.realm != target.realm
    may_go = is_other or (not proof and facts.options.thinking_first == "reorder")
    text = string_of(block.thinking).strip() if may_go else ""
    if not text:
        return None
    return text_block(text) if target.foreign == "text" else made({"type": "thinking", "thinking": text, "signature": ""})


def reason_against(block: Block, each: RecognisedAnswer, target: Target, facts: Facts) -> str:
    """Why a block may not go into this realm as it is; "" if it may."""
    proof = proof_of(block)
    if not proof:
        return UNSIGNED
    if is_seal(proof):
        origin = _sealed_by(block, facts)
        if origin and origin.realm != target.realm:
            return _made_by(origin, target)
        return LOST if origin and open_seal(block, facts) else UNVERIFIED
    if each.recording and each.recording.origin.realm != target.realm:
        return _made_by(each.recording.origin, target)
    return NO_SIGNATURE if target.binding and not can_be_claudes(block.type, proof) else ""


def _made_by(origin: Origin, target: Target) -> str:
    return f"made by {'another account of ' if origin.backend == target.backend else ''}{origin.backend}"


def _sealed_by(block: Block, facts: Facts) -> Origin | None:
    """The maker of a sealed block. It stays out either way, so a recording under this very seal is proof enough."""
    recording = facts.recordings.by_key(key_of(block) or b"")
    if recording is not None and recording.principal == facts.context.principal:
        return recording.origin
    seal = open_seal(block, facts)
    return seal.origin if seal else None


def open_seal(block: Block, facts: Facts) -> Seal | None:
    """The content of a block's seal; None if it has none, or one that does not verify."""
    proof = proof_of(block)
    if facts.sealer is None or not is_seal(proof):
        return None
    try:
        return facts.sealer.open(proof, string_of(block.thinking), principal=facts.context.principal)
    except SealInvalid:
        return None


def all_thinking(request: Request, each: RecognisedAnswer, recording: Recording) -> AnswerOutcome:
    """All of an answer's thinking: the client's copy if it is complete, else the recording's, in place; else none.

    A copy that holds only its beginning, and does not line up, was stopped: the part that the client has goes.
    """
    if holds_all(each.pieces, recording):
        return AnswerOutcome(each.pieces)
    pieces = align(each.pieces, recording)
    if pieces is not None:
        return AnswerOutcome(pieces, changes_of_restoring(each, recording, pieces))
    own = tuple(key for piece in each.pieces if (key := key_of(piece.block)))
    if own and own == recording.keys[: len(own)]:  # a client that stopped an answer never saw its end
        return leave_out_blocks(request, each, lambda block: "" if proof_of(block) else UNSIGNED)
    return leave_out_blocks(request, each, lambda block: APART)


def changes_of_restoring(each: RecognisedAnswer, recording: Recording, pieces: Sequence[AnswerPiece]) -> tuple[Change, ...]:
    """A Change for each block that the client did not send. A block that it holds under a seal was there all the time.

    A block that was hidden from the client has no key, nor has one that the client holds without a signature."""
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
