"""Blocks of answers that a target cannot be given, left out.

The filler stands in for them where a message would end in thinking, or two thoughts would be joined (R34, R37).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from clew.model.blocks import Block, filler, is_thinking
from clew.model.change import Change
from clew.model.facts.shapes import blocks
from clew.model.request import Message, Request, blocks_of, with_blocks
from clew.pipeline.values import block_path, is_nothing_but_blank

__all__ = ["is_servers_id", "needs_filler", "with_next", "without_abandoned", "without_blocks", "without_others"]


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


ABANDONED = "the server's tool never gave its result, and the user went on (R29)"


def without_abandoned(request: Request, *, step: str) -> tuple[Request, tuple[Change, ...]]:
    """The request without such calls; the very same if there are none."""
    return without_blocks(request, [*_abandoned(request.messages)], step=step, why=ABANDONED)


def _abandoned(messages: Sequence[Message]) -> Iterator[tuple[int, Block]]:
    """Those that are open when the user says anything but what the client's own tools gave."""
    waiting: dict[object, tuple[int, Block]] = {}
    before = ""
    for index, message in enumerate(messages):
        if message.role == "assistant":
            waiting = {} if before == "user" else waiting
            for block in blocks_of(message):
                waiting.pop(block.tool_use_id, None)
                if block.type == "server_tool_use":
                    waiting[block.id] = (index, block)
        elif message.role == "user" and _says_more(message):
            yield from waiting.values()
            waiting = {}
        before = before if message.role == "system" else message.role


def _says_more(message: Message) -> bool:
    """A string says something, whatever is in it: an empty one was replaced before."""
    return isinstance(message.content, str) or any(block.type != "tool_result" for block in blocks_of(message))


OTHERS = "a call of another vendor's server, by its id: this one takes none but its own (R24)"


def is_servers_id(id: object) -> bool:
    """Whether the vendor takes it for a call of its own server."""
    return isinstance(id, str) and _pattern().fullmatch(id) is not None


@cache
def _pattern() -> re.Pattern[str]:
    return re.compile(blocks()["server_tool_use"].fields["id"].pattern)


def without_others(request: Request, *, step: str) -> tuple[Request, tuple[Change, ...]]:
    """The request without such calls and their results; the very same if there are none."""
    return without_blocks(request, [*_others(request.messages)], step=step, why=OTHERS)


def _others(messages: Sequence[Message]) -> Iterator[tuple[int, Block]]:
    calls: set[object] = set()
    for index, message in enumerate(messages):
        for block in blocks_of(message) if message.role == "assistant" else ():
            if block.type == "server_tool_use" and not is_servers_id(block.id):
                calls.add(block.id)
                yield index, block
            elif isinstance(block.tool_use_id, str) and block.tool_use_id in calls:
                yield index, block
