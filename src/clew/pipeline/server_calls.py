"""Calls of server tools that a target cannot be given, left out of answers.

*Abandoned* calls (R29): an answer that paused, or that the user stopped while the server searched, ends in a call without a
result. Sent back alone it goes on; once the user has written something else it is refused, in every request from then on.
Nobody can give that result, so the call is left out.

*Foreign* calls (R24): a tool that another vendor's server ran, on the way to Claude. They stand in the answer with results
that only their maker can read, and Anthropic takes no id but its own: every request from then on would be refused. So both
are left out; the text that the model made of them stays.

The filler stands in for a block where a message would end in thinking, or two thoughts would be joined (R34, R37).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache

from clew.model.blocks import Block, filler, is_thinking
from clew.model.change import Change
from clew.model.facts.shapes import blocks
from clew.model.request import Request, blocks_of, with_blocks
from clew.pipeline.values import block_path, or_filler


def without_blocks(
    request: Request, places: Sequence[tuple[int, Block]], *, step: str, why: str
) -> tuple[Request, tuple[Change, ...]]:
    """The request without these blocks, each given with the index of its message; the very same if there are none."""
    if not places:
        return request, ()
    gone, messages = {id(block) for _, block in places}, list(request.messages)
    for index in {index for index, _ in places}:
        kept: list[Block] = []
        for block, follows in with_next(blocks_of(messages[index]), lambda block: id(block) not in gone):
            if id(block) not in gone:
                kept.append(block)
            elif needs_filler(kept, follows):
                kept.append(filler())
        messages[index] = with_blocks(messages[index], or_filler(tuple(kept)))
    changes = [Change(step, block_path(request, index, block), "left out", why) for index, block in places]
    return request.with_messages(tuple(messages)), tuple(changes)


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
    """Whether the filler must stand in for a block that goes: without it, two thinking blocks would be joined, which counts
    as modified (R34), or the message would end in one."""
    return bool(before) and is_thinking(before[-1]) and (follows is None or is_thinking(follows))


ABANDONED = "the server's tool never gave its result, and the user went on (R29)"
OTHERS = "a call of another vendor's server, by its id: this one takes none but its own (R24)"


def without_abandoned(request: Request, *, step: str) -> tuple[Request, tuple[Change, ...]]:
    """The request without abandoned calls: open when the user says anything but the results of the client's own tools."""
    abandoned: list[tuple[int, Block]] = []
    waiting: dict[object, tuple[int, Block]] = {}
    before = ""
    for index, message in enumerate(request.messages):
        if message.role == "assistant":
            waiting = {} if before == "user" else waiting
            for block in blocks_of(message):
                waiting.pop(block.tool_use_id, None)
                if block.type == "server_tool_use":
                    waiting[block.id] = (index, block)
        elif message.role == "user" and (
            isinstance(message.content, str) or any(block.type != "tool_result" for block in blocks_of(message))
        ):
            abandoned += waiting.values()
            waiting = {}
        before = before if message.role == "system" else message.role
    return without_blocks(request, abandoned, step=step, why=ABANDONED)


def is_servers_id(id: object) -> bool:
    """Whether Anthropic takes the id for a call of its own server."""
    return isinstance(id, str) and _server_id_pattern().fullmatch(id) is not None


@cache
def _server_id_pattern() -> re.Pattern[str]:
    return re.compile(blocks()["server_tool_use"].fields["id"].pattern)


def without_others(request: Request, *, step: str) -> tuple[Request, tuple[Change, ...]]:
    """The request without foreign calls and their results; the very same if there are none."""
    calls: set[object] = set()
    found: list[tuple[int, Block]] = []
    for index, message in enumerate(request.messages):
        for block in blocks_of(message) if message.role == "assistant" else ():
            if block.type == "server_tool_use" and not is_servers_id(block.id):
                calls.add(block.id)
                found.append((index, block))
            elif isinstance(block.tool_use_id, str) and block.tool_use_id in calls:
                found.append((index, block))
    return without_blocks(request, found, step=step, why=OTHERS)
