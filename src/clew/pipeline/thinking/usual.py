"""The usual case: the newest answer is this reader's own, and the client's copy of what went ahead of it is whole.

Then nothing has to be restored or held back, and that is seen by one look-up: the newest signed block names its recording,
and one hash over all of the client's proofs and texts equals the recording's digest. Only what could not be sent in the
first place (unsigned blocks, other realms' sealed ones) is taken out. Everything else, and every doubt, is the long way's
business.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from clew.model.blocks import THINKING_TYPES, Block
from clew.model.change import Change
from clew.model.past import Fold, all_of, folded
from clew.model.recording import Recording, Recordings, Shelf
from clew.model.request import Message, Request, blocks_of
from clew.model.target import Target
from clew.pipeline.step import Facts
from clew.pipeline.thinking.as_recorded import as_recorded
from clew.pipeline.thinking.pieces import applied, filtered, refusal
from clew.thinking.history import Piece
from clew.thinking.keys import Row, block_key, proof_of
from clew.thinking.profiles import canonical_model
from clew.thinking.recognise import Found
from clew.thinking.seal import PREFIX, is_seal

__all__ = ["Whole", "is_unknown", "made_here", "usual_case", "whole_copy"]


class Whole(Struct, frozen=True, eq=False):
    """A client's copy that is whole up to its newest answer; `stray` are the messages with thinking that cannot go."""

    recording: Recording
    stray: tuple[int, ...]


def usual_case(request: Request, target: Target, facts: Facts) -> tuple[Request, tuple[Change, ...]] | None:
    """The request as it goes, with the changes; None if this is not the usual case."""
    copy = whole_copy(request.messages, target, facts)
    if copy is None:
        return None
    request, _ = as_recorded(request, target, facts, copy.stray)
    found = [_alone(request.messages[index], index) for index in copy.stray]
    outcomes = [
        filtered(request, each, lambda block, each=each: refusal(block, each, target, facts), target=target, facts=facts)
        for each in found
    ]
    return applied(request, found, outcomes)


def is_unknown(messages: Sequence[Message], recordings: Recordings) -> bool:
    """Whether nothing is recorded of anybody, and a vendor signed all thinking: then the client's copy goes as it came."""
    if not (isinstance(recordings, Shelf) and recordings.is_empty):
        return False
    return folded(messages, _BY_VENDORS)


def whole_copy(messages: Sequence[Message], target: Target, facts: Facts) -> Whole | None:
    """The recording of the newest answer, if it is this reader's and all that went ahead of it is here, unchanged."""
    last = next((message for message in reversed(messages) if message.role == "assistant"), None)
    newest = _proof_in(last) if last else None
    recording = facts.recordings.by_key(block_key(*newest)) if newest else None
    if recording is None or not _is_ours(recording, target, facts):
        return None
    if folded(messages, _ROW).digest() != recording.digest:
        return None
    return Whole(recording, () if folded(messages, _BY_VENDORS) else _strays(messages))


def _proof_in(message: Message) -> tuple[str, str] | None:
    """Type and proof of the last block in it that a vendor signed."""
    for block in reversed(blocks_of(message)):
        if (proof := proof_of(block)) and not is_seal(proof):
            return block.type, proof
    return None


def _thoughts_in(messages: Sequence[Message]) -> list[Block]:
    """Every thinking block. In one expression, because it reads the whole history."""
    return [
        block
        for answer in messages
        if answer.role == "assistant" and isinstance(answer.content, tuple)
        for block in answer.content
        if block.type in THINKING_TYPES
    ]


def _natives_in(messages: Sequence[Message]) -> list[Block]:
    """Those that a vendor signed."""
    return [block for block in _thoughts_in(messages) if (proof := proof_of(block)) and not is_seal(proof)]


_ROW = Fold(Row(), lambda row, messages, at: row.longer(_natives_in(messages)))


def _are_by_vendors(messages: Sequence[Message]) -> bool:
    proofs = [(block.signature if block.type == "thinking" else block.data) or "" for block in _thoughts_in(messages)]
    return all(proofs) and not any([proof.startswith(PREFIX) for proof in proofs])  # noqa: C419  (a list is faster)


_BY_VENDORS = all_of(_are_by_vendors)


def _strays(messages: Sequence[Message]) -> tuple[int, ...]:
    """The messages with thinking that nobody signed, or that clew sealed."""
    found = (
        index
        for index, message in enumerate(messages)
        if message.role == "assistant" and isinstance(message.content, tuple)
        for block in message.content
        if block.type in THINKING_TYPES and (not (proof := proof_of(block)) or is_seal(proof))
    )
    return tuple(dict.fromkeys(found))


def _is_ours(recording: Recording, target: Target, facts: Facts) -> bool:
    return recording.principal == facts.context.principal and made_here(recording, target)


def made_here(recording: Recording, target: Target) -> bool:
    """Whether this very reader made the answer."""
    origin = recording.origin
    if origin.realm != target.realm or canonical_model(origin.model) != target.profile.id:
        return False
    return not target.profile.account_bound or origin.account == target.account


def _alone(message: Message, index: int) -> Found:
    blocks = message.content if isinstance(message.content, tuple) else ()
    return Found(tuple(Piece(index, block) for block in blocks), None, (index,))
