"""The client's copy of a history, towards a reader that binds: whether it is whole, and what of it can never go.

It is whole where the newest answer is this reader's own, and all thinking that went ahead of it is there, unchanged. The
newest signed block names its recording, and one hash over all of the client's proofs and texts equals the recording's
digest; the hash goes on from where an earlier request ended. Where nobody recorded anything, there is nothing to hold the
copy against.
"""

from __future__ import annotations

from collections.abc import Sequence

from clew.model.blocks import THINKING_TYPES, Block
from clew.model.past import Fold, folded
from clew.model.recording import Recording, Shelf
from clew.model.request import Message, blocks_of
from clew.model.target import Target
from clew.pipeline.step import Facts
from clew.thinking.keys import ProofRow, block_key, proof_of
from clew.thinking.profiles import canonical_model
from clew.thinking.seal import is_seal

__all__ = ["is_whole", "made_here", "strays_in"]


def is_whole(messages: Sequence[Message], target: Target, facts: Facts) -> bool:
    """Whether nothing of it has to be restored or held back but the strays."""
    if isinstance(facts.recordings, Shelf) and facts.recordings.is_empty:
        return True
    last = next((message for message in reversed(messages) if message.role == "assistant"), None)
    signed = [block for block in blocks_of(last) if _is_signed(block)] if last else []
    recording = facts.recordings.by_key(block_key(signed[-1].type, proof_of(signed[-1]))) if signed else None
    if recording is None or recording.principal != facts.context.principal or not made_here(recording, target):
        return False
    return folded(messages, _ROW).digest() == recording.digest


def made_here(recording: Recording, target: Target) -> bool:
    """Whether this very reader made the answer."""
    origin = recording.origin
    if origin.realm != target.realm or canonical_model(origin.model) != target.profile.id:
        return False
    return not target.profile.account_bound or origin.account == target.account


def strays_in(messages: Sequence[Message]) -> tuple[int, ...]:
    """The messages with thinking that nobody signed, or that clew sealed."""
    return folded(messages, _STRAYS)


def _thoughts_in(message: Message) -> list[Block]:
    if message.role != "assistant":
        return []
    return [block for block in blocks_of(message) if block.type in THINKING_TYPES]


def _is_signed(block: Block) -> bool:
    """By a vendor."""
    return bool(proof := proof_of(block)) and not is_seal(proof)


def _row(before: ProofRow, messages: Sequence[Message], at: int) -> ProofRow:
    return before.extended([block for each in messages for block in _thoughts_in(each) if _is_signed(block)])


def _strays(before: tuple[int, ...], messages: Sequence[Message], at: int) -> tuple[int, ...]:
    found = [i for i, each in enumerate(messages, at) for block in _thoughts_in(each) if not _is_signed(block)]
    return (*before, *dict.fromkeys(found))


_ROW = Fold(ProofRow(), _row)
"""All that vendors signed."""
_STRAYS = Fold[tuple[int, ...]]((), _strays)
