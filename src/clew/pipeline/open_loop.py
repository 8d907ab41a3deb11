"""The open tool loop: the answers since a person last spoke, whose results are still coming in.

It begins with the first answer after the last user message that holds no tool_result; system-role messages do not count, nor
do texts beside a tool_result. In manual mode the answer that opens it must begin with thinking (R35), and so must an answer
that the request ends with. What is decided about a loop depends on how it began, so it is the same for each request in it.
"""

from __future__ import annotations

from collections.abc import Sequence

from clew.model.blocks import Block, filler, is_thinking
from clew.model.change import Change
from clew.model.request import Message, Request, blocks_of, with_blocks
from clew.pipeline.blank import is_nothing_but_blank
from clew.pipeline.places import block_path

__all__ = ["call_without_thinking", "cannot_think", "loop_start", "without_loop_thinking"]


def loop_start(messages: Sequence[Message]) -> int | None:
    """The index of the answer that opens the loop; None if no answer has been given since a person last spoke."""
    start: int | None = None
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message.role == "assistant":
            start = index
        elif message.role == "user" and not _answers_tools(message):
            break
    return start


def _answers_tools(message: Message) -> bool:
    return any(block.type == "tool_result" for block in blocks_of(message))


def cannot_think(messages: Sequence[Message]) -> bool:
    """Whether manual thinking would be refused: the loop's first answer, or a last message, does not begin with thinking."""
    start = loop_start(messages)
    if start is None:
        return False
    begins = [start] if any(message.role == "user" for message in messages[start:]) else []  # results came back
    if messages[-1].role == "assistant":
        begins.append(_run_start(messages, len(messages) - 1))
    return any(_speaks_first(messages, index) for index in begins)


def call_without_thinking(messages: Sequence[Message]) -> bool:
    """Whether an answer calls a tool and holds no thinking: another model's, or one that a client stripped."""
    return any(message.role == "assistant" and _calls_unthinkingly(blocks_of(message)) for message in messages)


def _calls_unthinkingly(blocks: Sequence[Block]) -> bool:
    return any(block.type == "tool_use" for block in blocks) and not any(is_thinking(block) for block in blocks)


def _run_start(messages: Sequence[Message], index: int) -> int:
    while index and messages[index - 1].role in ("assistant", "system"):
        index -= 1
    return index


def _speaks_first(messages: Sequence[Message], start: int) -> bool:
    """Whether the run of assistant messages from there begins with something else than thinking."""
    for message in messages[start:]:
        if message.role == "user":
            break
        if message.role == "assistant" and message.content:
            first = blocks_of(message)[:1]
            return not (first and is_thinking(first[0]))
    return False


def without_loop_thinking(request: Request, *, step: str, why: str) -> tuple[Request, tuple[Change, ...]]:
    """The request with no thinking in its open loop."""
    start = loop_start(request.messages)
    if start is None:
        return request, ()
    changes: list[Change] = []
    messages = list(request.messages)
    for index in range(start, len(messages)):
        blocks = blocks_of(messages[index])
        out = [block for block in blocks if is_thinking(block)]
        changes.extend(Change(step, block_path(request, index, block), "left out", why) for block in out)
        if out:
            messages[index] = with_blocks(messages[index], _spoken(blocks))
    return request.with_messages(tuple(messages)), tuple(changes)


def _spoken(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """What is no thinking; the filler where that is nothing, or white space, which may not stand alone (R22)."""
    spoken = tuple(block for block in blocks if not is_thinking(block))
    return (filler(),) if not spoken or is_nothing_but_blank(spoken) else spoken
