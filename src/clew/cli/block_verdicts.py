"""Each thinking block of a request: who made it, and whether it goes to each target.

The verdicts are not a second opinion: they are what the projection itself does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from msgspec import Struct, structs

from clew.errors import RequestInvalid, SealInvalid
from clew.model.blocks import Block, is_thinking, string_of
from clew.model.change import Change
from clew.model.origin import Origin
from clew.model.request import Request, blocks_of
from clew.model.target import Target
from clew.pipeline.project import Projection, project
from clew.pipeline.step import Facts
from clew.pipeline.thinking.open import UNRECORDED
from clew.thinking.keys import key_of, proof_of
from clew.thinking.seal import is_seal
from clew.wire.requests import raw_of

__all__ = ["Seen", "Verdict", "is_ours", "seen_blocks", "thinking_in"]

UNOPENED = "sealed by clew; its maker cannot be told without the secret"
UNSEALED = "unsealed into its maker's own form"


class Verdict(Struct, frozen=True):
    """Whether a block goes to a target, and why not, or in which form."""

    what: str
    why: str = ""


class Seen(Struct, frozen=True):
    """One thinking block. `verdicts` has one for each target, in their order."""

    path: str
    type: str
    origin: str
    size: int
    verdicts: tuple[Verdict, ...]


_Row: TypeAlias = Callable[[str, Block], Verdict]


def thinking_in(request: Request) -> list[tuple[str, Block]]:
    """Its thinking blocks, each with its path."""
    return [
        (f"messages.{i}.content.{j}", block)
        for i, message in enumerate(request.source.body.messages)
        for j, block in enumerate(blocks_of(message))
        if is_thinking(block)
    ]


def seen_blocks(request: Request, targets: Iterable[Target], facts: Facts) -> tuple[Seen, ...]:
    """Every thinking block of the request, with what each target gets of it."""
    thinking = thinking_in(request)
    if not thinking:
        return ()
    rows = [_verdicts(request, target, facts) for target in targets]
    return tuple(
        Seen(
            path,
            block.type,
            _origin(block, facts),
            _size(request, block),
            tuple(_named(row(path, block), _maker(block, facts)) for row in rows),
        )
        for path, block in thinking
    )


def _named(verdict: Verdict, maker: Origin | None) -> Verdict:
    """With who made it, where the projection could not tell: of a transcript it sees the thinking alone, and finds no answer
    by that."""
    return structs.replace(verdict, why=f"made by {maker.backend}") if maker and verdict.why == UNRECORDED else verdict


def _size(request: Request, block: Block) -> int:
    """The block's bytes; 0 where a doubled key hides which they are."""
    try:
        return len(raw_of(request, block))
    except RequestInvalid:
        return 0


def _verdicts(request: Request, target: Target, facts: Facts) -> _Row:
    """What this target would get of each block."""
    try:
        row = _row(project(request, target, facts))
    except RequestInvalid as error:
        why = str(error)
        return lambda path, block: Verdict("cannot be edited", why)
    return row if facts.sealer else _without_secret(row)


def _without_secret(row: _Row) -> _Row:
    """Without the secret no seal opens; that says nothing about the seal."""

    def verdict(path: str, block: Block) -> Verdict:
        said = row(path, block)
        return structs.replace(said, why=UNOPENED) if said.what == "left out" and is_seal(proof_of(block)) else said

    return verdict


def _row(projection: Projection) -> _Row:
    """Still there, or the change that says why it is not."""
    there = {id(block) for message in projection.request.messages for block in blocks_of(message)}
    changes = {change.path: change for change in reversed(projection.changes)}

    def verdict(path: str, block: Block) -> Verdict:
        if id(block) in there:
            return Verdict("goes")
        change = changes.get(path) or changes.get(path.rpartition(".content.")[0])
        return _said(change) if change else Verdict("goes", UNSEALED)

    return verdict


def _said(change: Change) -> Verdict:
    return Verdict(change.what, change.why)


def is_ours(request: Request, facts: Facts) -> bool:
    """Whether a backend of this clew made one of its thinking blocks."""
    return any(_maker(block, facts) for _, block in thinking_in(request))


def _maker(block: Block, facts: Facts) -> Origin | None:
    """Who made a block: as its seal says, or the recording of the answer that it was in."""
    proof, key = proof_of(block), key_of(block)
    if not is_seal(proof):
        recording = facts.recordings.by_key(key) if key else None
        return recording.origin if recording else None
    try:
        seal = (
            facts.sealer.open(proof, string_of(block.thinking), principal=facts.context.principal) if facts.sealer else None
        )
    except SealInvalid:
        return None
    return seal.origin if seal else None


def _origin(block: Block, facts: Facts) -> str:
    """Who made a block, as far as its bytes and the recordings tell."""
    proof, maker = proof_of(block), _maker(block, facts)
    if not proof:
        return "unsigned"
    made = f", {maker.backend} {maker.model}" if maker else ""
    if not is_seal(proof):
        return ("redacted" if block.type == "redacted_thinking" else "native signature") + made
    return f"sealed{made}" if maker or facts.sealer is None else "sealed, does not verify"
