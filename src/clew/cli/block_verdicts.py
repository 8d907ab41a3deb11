"""Each thinking block of a request: who made it, and whether it goes to each target.

The verdicts are not a second opinion: they are what the projection itself does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from msgspec import Struct

from clew.errors import RequestInvalid, SealInvalid
from clew.model.blocks import Block, is_thinking, string_of
from clew.model.origin import Origin, Target
from clew.model.request import Request, blocks_of
from clew.pipeline.project import project
from clew.pipeline.step import Facts
from clew.pipeline.thinking.open import UNRECORDED
from clew.thinking.keys import key_of, proof_of
from clew.thinking.seal import is_seal
from clew.wire.requests import raw_of

UNOPENED = "sealed by clew; its maker is unknown without the secret"
UNSEALED = "unsealed to the form of its maker"


class BlockVerdict(Struct, frozen=True):
    """Whether a block goes to a target, and why not, or in which form."""

    what: str
    why: str = ""


class CheckedBlock(Struct, frozen=True):
    """One thinking block. `verdicts` has one for each target, in their order."""

    path: str
    type: str
    origin: str
    size: int
    verdicts: tuple[BlockVerdict, ...]


_Judge: TypeAlias = Callable[[str, Block], BlockVerdict]
"""Gives the verdict on a block, by its path."""


def thinking_in(request: Request) -> list[tuple[str, Block]]:
    """The thinking blocks of a request, each with its path."""
    return [
        (f"messages.{i}.content.{j}", block)
        for i, message in enumerate(request.source.body.messages)
        for j, block in enumerate(blocks_of(message))
        if is_thinking(block)
    ]


def check_blocks(request: Request, targets: Iterable[Target], facts: Facts) -> tuple[CheckedBlock, ...]:
    """Every thinking block of the request, with what each target gets of it."""
    thinking = thinking_in(request)
    judges = [_judge_for(request, target, facts) for target in targets] if thinking else []
    checked: list[CheckedBlock] = []
    for path, block in thinking:
        try:
            size = len(raw_of(request, block))
        except RequestInvalid:  # a doubled key hides which bytes are the block's
            size = 0
        verdicts = tuple(judge(path, block) for judge in judges)
        proof, maker = proof_of(block), _maker_of(block, facts)
        made = f", {maker.backend} {maker.model}" if maker else ""
        origin = "unsigned"
        if is_seal(proof):
            origin = f"sealed{made}" if maker or facts.sealer is None else "sealed, does not verify"
        elif proof:
            origin = ("redacted" if block.type == "redacted_thinking" else "native signature") + made
        checked.append(CheckedBlock(path, block.type, origin, size, verdicts))
    return tuple(checked)


def _judge_for(request: Request, target: Target, facts: Facts) -> _Judge:
    """What this target would get of each block: the block is still there, or a change says why it is not."""
    try:
        projection = project(request, target, facts)
    except RequestInvalid as error:
        refused = BlockVerdict("cannot be edited", str(error))
        return lambda path, block: refused
    sent = {id(block) for message in projection.request.messages for block in blocks_of(message)}
    changes = {change.path: change for change in reversed(projection.changes)}

    def judge(path: str, block: Block) -> BlockVerdict:
        if id(block) in sent:
            return BlockVerdict("goes")
        change = changes.get(path) or changes.get(path.rpartition(".content.")[0])
        if change is None:
            return BlockVerdict("goes", UNSEALED)
        if facts.sealer is None and change.what == "left out" and is_seal(proof_of(block)):
            return BlockVerdict(change.what, UNOPENED)  # without the secret no seal opens; that says nothing about the seal
        # The projection finds no answer by the thinking alone, which is all that an excerpt of a transcript has.
        maker = _maker_of(block, facts) if change.why == UNRECORDED else None
        return BlockVerdict(change.what, f"made by {maker.backend}" if maker else change.why)

    return judge


def is_made_through_clew(request: Request, facts: Facts) -> bool:
    """Whether a backend of this clew made one of its thinking blocks."""
    return any(_maker_of(block, facts) for _, block in thinking_in(request))


def _maker_of(block: Block, facts: Facts) -> Origin | None:
    """Who made a block: as its seal says, or the recording of the answer that it was in."""
    proof, key = proof_of(block), key_of(block)
    if not is_seal(proof):
        recording = facts.recordings.by_key(key) if key else None
        return recording.origin if recording else None
    if facts.sealer is None:
        return None
    try:
        return facts.sealer.open(proof, string_of(block.thinking), principal=facts.context.principal).origin
    except SealInvalid:
        return None
