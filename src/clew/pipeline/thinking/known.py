"""Which thinking goes, for a history whose makers are known: the step of a library that noted them itself.

Nothing has to be recognised, and nothing restored: whoever keeps messages keeps them whole. So all that is decided is who
may read what. For a reader that may check what came before a block, its own realm's blocks go as they stand, and nothing but
another realm's is left out: that depends on each message alone, so what such a reader gets only ever grows.
"""

from __future__ import annotations

from collections.abc import Mapping

from clew.model.change import Change
from clew.model.origin import Origin
from clew.model.recording import Recording, Strand
from clew.model.request import Request, blocks_of
from clew.model.target import Target
from clew.pipeline.step import Facts, Step
from clew.pipeline.thinking.binding import for_binding
from clew.pipeline.thinking.open import for_open
from clew.pipeline.thinking.pieces import applied
from clew.thinking.history import answers_of
from clew.thinking.keys import answer_content, key_of
from clew.thinking.recognise import RecognisedAnswer
from clew.wire.requests import raw_of

__all__ = ["keep_known"]


def keep_known(makers: Mapping[int, Origin]) -> Step:
    """A step that keeps thinking by who made each message, by the message's index; nobody knows of the others."""

    def step(request: Request, target: Target, facts: Facts) -> tuple[Request, tuple[Change, ...]]:
        found = [
            RecognisedAnswer(
                tuple(piece for piece in answer.pieces if piece.message == index),
                _recording(request, index, makers.get(index), target, facts),
                (index,),
            )
            for answer in answers_of(request.messages)
            for index in answer.messages
        ]
        decide = for_binding if target.binding else for_open
        return applied(request, found, decide(request, found, target, facts))

    return step


def _recording(request: Request, index: int, maker: Origin | None, target: Target, facts: Facts) -> Recording | None:
    """The message as a recording of its own; none where a strand would be asked for, which nobody noted."""
    if maker is None or (target.binding and maker.realm == target.realm):
        return None
    blocks = blocks_of(request.messages[index])
    return Recording(
        id=f"message {index}",
        principal=facts.context.principal,
        origin=maker,
        blocks=tuple(raw_of(request, block) for block in blocks),
        keys=tuple(key for block in blocks if (key := key_of(block))),
        said=answer_content(blocks),
        place=b"",
        strand=Strand(),
    )
