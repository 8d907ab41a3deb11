"""Recovery: a conversation that broke off between a call and its result, made whole again.

A call that nobody answered is taken away, from what is read and from the maker's own blocks alike, and a result that answers
no call with it; the API refuses either. Thinking that led to nothing but such calls goes too, since an answer may not end in
it. A message that then says nothing is left out.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import islice, takewhile

from msgspec import structs

from clew.chat.messages import Message
from clew.model.json import JsonValue
from clew.pipeline.builder import is_thinking_block

__all__ = ["recovered", "without_calls"]


def recovered(messages: Sequence[Message]) -> list[Message]:
    """The conversation without calls that have no result, and without results that have no call.

    >>> from clew.chat.messages import ToolCall
    >>> broken = [
    ...     Message(role="user", content="What is new?"),
    ...     Message(role="assistant", content="Let me look.", tool_calls=(ToolCall(id="t1", name="look"),)),
    ... ]
    >>> [(message.role, message.tool_calls) for message in recovered(broken)]
    [('user', ()), ('assistant', ())]
    """
    kept: list[Message] = []
    called: set[str] = set()
    for index, message in enumerate(messages):
        if message.role == "assistant":
            message = without_calls(message, {call.id for call in message.tool_calls} - _answered(messages, index + 1))
            called = {call.id for call in message.tool_calls}
        is_orphan = message.role == "tool" and message.tool_call_id not in called
        if not is_orphan and not _is_empty(message):
            kept.append(message)
    return kept


def without_calls(message: Message, ids: Collection[str]) -> Message:
    """The message without these calls, in `tool_calls` and in `raw_content`; the very same one if it has none of them.

    >>> from clew.chat.messages import ToolCall
    >>> call = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
    >>> said = Message(role="assistant", tool_calls=(ToolCall(id="t1", name="look"),), raw_content=[call])
    >>> without_calls(said, ["t1"]).raw_content
    []
    """
    calls = tuple(call for call in message.tool_calls if call.id not in ids)
    raw = _without(message.raw_content, ids)
    if len(calls) == len(message.tool_calls) and raw is message.raw_content:
        return message
    return structs.replace(message, tool_calls=calls, raw_content=raw)


def _without(raw: JsonValue, ids: Collection[str]) -> JsonValue:
    blocks = raw if isinstance(raw, list) else []
    left = [block for block in blocks if not _is_call(block, ids)]
    if len(left) == len(blocks):
        return raw
    while left and is_thinking_block(left[-1]):
        left.pop()
    return left


def _is_call(block: JsonValue, ids: Collection[str]) -> bool:
    return isinstance(block, dict) and block.get("type") == "tool_use" and block.get("id") in ids


def _answered(messages: Sequence[Message], start: int) -> set[str | None]:
    """The ids that the messages from here on give results for, up to whatever else comes next."""
    results = takewhile(lambda message: message.role == "tool", islice(messages, start, None))
    return {message.tool_call_id for message in results}


def _is_empty(message: Message) -> bool:
    return message.role == "assistant" and not (message.content or message.tool_calls or message.raw_content)
