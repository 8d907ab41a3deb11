"""JSON paths in the client's request, for Changes: where a value stood, not where a step before this one moved it."""

from __future__ import annotations

from clew.model.blocks import Block
from clew.model.request import Request, blocks_of

__all__ = ["block_path", "message_path"]


def message_path(request: Request, index: int) -> str:
    """The client's index of a message; for one that clew put in, its place now."""
    own = request.source.index_of(request.messages[index])
    return f"messages.{index if own is None else own}"


def block_path(request: Request, index: int, block: Block) -> str:
    """The client's place of a block; for one that clew made, its place in that message now."""
    place = request.source.place_of(block)
    if place is not None:
        return f"messages.{place[0]}.content.{place[1]}"
    position = next((j for j, each in enumerate(blocks_of(request.messages[index])) if each is block), 0)
    return f"{message_path(request, index)}.content.{position}"
