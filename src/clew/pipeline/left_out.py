"""Blocks of answers that a target cannot be given, left out.

The filler stands in for them where a message would end in thinking, or two thoughts would be joined (R34, R37).
"""

from __future__ import annotations

from collections.abc import Sequence

from clew.model.blocks import Block, filler, is_thinking
from clew.model.change import Change
from clew.model.request import Request, blocks_of, with_blocks
from clew.pipeline.blank import is_nothing_but_blank
from clew.pipeline.places import block_path

__all__ = ["without_blocks"]


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
    for at, block in enumerate(blocks):
        if id(block) not in gone:
            kept.append(block)
        elif _is_needed(kept, [each for each in blocks[at + 1 :] if id(each) not in gone]):
            kept.append(filler())
    left = tuple(kept)
    return (filler(),) if not left or is_nothing_but_blank(left) else left


def _is_needed(before: Sequence[Block], after: Sequence[Block]) -> bool:
    return bool(before) and is_thinking(before[-1]) and (not after or is_thinking(after[0]))
