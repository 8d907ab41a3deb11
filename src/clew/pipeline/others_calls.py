"""Calls of a tool that another vendor's server ran, on their way to Claude.

They stand in the answer with what they found, which only their maker can read, and the vendor takes no id but its own (R24):
every request from then on would be refused. So both are left out; the words that the model made of them stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from clew.model.blocks import Block
from clew.model.change import Change
from clew.model.facts.shapes import blocks
from clew.model.request import Message, Request, blocks_of
from clew.pipeline.left_out import without_blocks

__all__ = ["is_servers_id", "without_others"]

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
