"""Calls of a server's tool that nobody will answer any more (R29).

An answer that paused, or that the user stopped while the server searched, ends in a call without a result. Sent back alone
it goes on; once the user has said something else it is refused, in every request from then on. Nobody can give that result,
so the call is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clew.model.blocks import Block
from clew.model.change import Change
from clew.model.request import Message, Request, blocks_of
from clew.pipeline.left_out import without_blocks

__all__ = ["without_abandoned"]

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
