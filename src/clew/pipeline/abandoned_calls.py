"""Calls of a server's tool that nobody will answer any more (R29).

An answer that paused, or that the user stopped while the server searched, ends in a call without a result. Sent back alone
it goes on; once the user has said something else it is refused, in every request from then on. Nobody can give that result,
so the call is left out. The filler stands in for it where a message would end in thinking, or two thoughts would be joined
(R34, R37).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clew.model.blocks import Block, filler, is_thinking
from clew.model.change import Change
from clew.model.request import Message, Request, blocks_of, with_blocks
from clew.pipeline.blank import is_nothing_but_blank
from clew.pipeline.places import block_path

__all__ = ["without_abandoned"]

ABANDONED = "the server's tool never gave its result, and the user went on (R29)"


def without_abandoned(request: Request, *, step: str) -> tuple[Request, tuple[Change, ...]]:
    """The request without such calls; the very same if there are none."""
    gone = {id(call): (index, call) for index, call in _abandoned(request.messages)}
    if not gone:
        return request, ()
    messages = list(request.messages)
    for index in {index for index, _ in gone.values()}:
        messages[index] = with_blocks(messages[index], _left(blocks_of(messages[index]), set(gone)))
    changes = [Change(step, block_path(request, index, call), "left out", ABANDONED) for index, call in gone.values()]
    return request.with_messages(tuple(messages)), tuple(changes)


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
