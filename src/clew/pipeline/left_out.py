"""Blocks of answers that a target cannot be given, left out.

The filler stands in for them where a message would end in thinking, or two thoughts would be joined (R34, R37).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from clew.model.blocks import Block, filler, is_thinking
from clew.model.change import Change
from clew.model.request import Request, blocks_of, with_blocks
from clew.pipeline.blank import is_nothing_but_blank
from clew.pipeline.places import block_path

__all__ = ["needs_filler", "with_next", "without_blocks"]


def without_blocks(
    request: Request, places: Sequence[tuple[int, Block]], *, step: str, why: str
) -> tuple[Request, tuple[Change, ...]]:
    """The request without these, each said with the index of its message; the very same if there are none."""
    if not places:
        return request, ()
    gone, messages = {id(block) for _, block in places}, list(request.messages)
    for index in {index for index, _ in places}:
        messages[index] = with_blocks(messages[index], _left(blocks_of(messages[index]), gone))
    changes = [Change(step, block_path(request, index, block), "left out", why) for index, block in places]
    return request.with_messages(tuple(messages)), tuple(changes)


def _left(blocks: Sequence[Block], gone: set[int]) -> tuple[Block, ...]:
    kept: list[Block] = []
    for block, follows in with_next(blocks, lambda block: id(block) not in gone):
        if id(block) not in gone:
            kept.append(block)
        elif needs_filler(kept, follows):
            kept.append(filler())
    left = tuple(kept)
    return (filler(),) if not left or is_nothing_but_blank(left) else left


def with_next(blocks: Sequence[Block], stays: Callable[[Block], bool]) -> list[tuple[Block, Block | None]]:
    """Each block with the next one behind it that stays, if there is one."""
    pairs: list[tuple[Block, Block | None]] = []
    follows: Block | None = None
    for block in reversed(blocks):
        pairs.append((block, follows))
        if stays(block):
            follows = block
    return pairs[::-1]


def needs_filler(before: Sequence[Block], follows: Block | None) -> bool:
    """Whether something must stand in for a block that goes: without it, two thinking blocks would be joined, which counts
    as modified (R34), or the message would end in one."""
    return bool(before) and is_thinking(before[-1]) and (follows is None or is_thinking(follows))
