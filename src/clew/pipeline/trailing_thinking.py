"""Plain messages of a client's history, bare or in the envelopes (`type`, `uuid`, `message`, …) in which Claude Code keeps
them: a copy that can be sent.

Thinking at the end of a last assistant message, which the API refuses, is dropped, and a constant text stands where nothing
else was. The copy shares nothing with the history, so nothing that is done to a request can reach back into it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from msgspec import Struct

from clew.errors import RequestInvalid
from clew.model.blocks import FILLER, THINKING_TYPES
from clew.model.json import JsonObject, JsonValue


class TrailingThinking(
    Struct,
    frozen=True,
    rename={"message_uuid": "messageUUID", "blocks_removed": "blocksRemoved", "remaining_blocks": "remainingBlocks"},
):
    """The last message ended in thinking, which was removed. Its JSON has the names of the fields that Claude Code logs.

    >>> _, event = filter_trailing_thinking([{"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm."}]}])
    >>> event.name, event.blocks_removed, event.remaining_blocks
    ('tengu_filtered_trailing_thinking_block', 1, 0)
    """

    name: ClassVar[str] = "tengu_filtered_trailing_thinking_block"
    """The name under which Claude Code logs it."""
    message_uuid: str | None
    """The message's, if it has one."""
    blocks_removed: int
    """How many were thinking."""
    remaining_blocks: int
    """How many are left of the message."""


def is_thinking_block(block: JsonValue) -> bool:
    """Say whether a plain value is a thinking block, redacted or not.

    >>> is_thinking_block({"type": "redacted_thinking", "data": "x"}), is_thinking_block({"type": "text"})
    (True, False)
    """
    kind = block.get("type") if isinstance(block, dict) else None
    return isinstance(kind, str) and kind in THINKING_TYPES


def normalise_messages(messages: Sequence[JsonObject]) -> tuple[list[JsonObject], TrailingThinking | None]:
    """Return a copy that shares no objects with the history, without trailing thinking in its last message.

    Raises RequestInvalid if the history is nested too deeply to be copied.

    >>> history = [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]
    >>> copy, event = normalise_messages(history)
    >>> copy == history, copy[0] is history[0], event
    (True, False, None)
    """
    try:
        return filter_trailing_thinking([copied(message) for message in messages])
    except RecursionError:
        raise RequestInvalid("the messages are nested too deeply", path="messages") from None


def filter_trailing_thinking(messages: list[JsonObject]) -> tuple[list[JsonObject], TrailingThinking | None]:
    """Return the messages without thinking at the end of the last one, if it is the assistant's, and what was removed.

    The very same list if there is nothing to remove. Every other field of the message is kept. Where nothing else was said,
    a constant text stands instead, since the API takes no empty message.

    >>> thought = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    >>> filter_trailing_thinking([{"role": "assistant", "content": [{"type": "text", "text": "So:"}, thought]}])[0]
    [{'role': 'assistant', 'content': [{'type': 'text', 'text': 'So:'}]}]
    """
    last = messages[-1] if messages else {}
    held = _inner(last).get("content")
    blocks = held if _role(last) == "assistant" and isinstance(held, list) else []
    kept = len(blocks)
    while kept and is_thinking_block(blocks[kept - 1]):
        kept -= 1
    if kept == len(blocks):
        return messages, None
    content = blocks[:kept] or [{"type": "text", "text": FILLER, "citations": []}]
    uuid = last.get("uuid")
    event = TrailingThinking(uuid if isinstance(uuid, str) else None, len(blocks) - kept, kept)
    inner = {**_inner(last), "content": content}
    return [*messages[:-1], {**last, "message": inner} if isinstance(last.get("message"), dict) else inner], event


def bare(message: JsonObject) -> JsonObject:
    """The message that the API gets: what it knows of a message, out of its envelope."""
    inner = _inner(message)
    more: JsonObject = {"output_config": inner["output_config"]} if "output_config" in inner else {}
    return {"role": _role(message), "content": inner.get("content"), **more}


def copied(value: JsonObject) -> JsonObject:
    """A copy that shares no list and no dictionary with the value."""
    return {key: _copied(each) for key, each in value.items()}


def _copied(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return copied(value)
    return [_copied(each) for each in value] if isinstance(value, list) else value


def _inner(message: JsonObject) -> JsonObject:
    """The message inside the client's envelope, or the bare message itself."""
    inner = message.get("message")
    return inner if isinstance(inner, dict) else message


def _role(message: JsonObject) -> JsonValue:
    return _inner(message).get("role") or message.get("type")
