"""A client's own history as the API gets it: plain messages, bare or in the client's envelope.

Claude Code keeps messages in envelopes (`type`, `uuid`, `message`, …) and sends the inner ones. Before that it drops
thinking at the end of a last assistant message, which the API refuses, and puts a constant text where nothing else was. The
copy that is worked on shares nothing with the history, so nothing done to a request can reach back into it.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from clew.errors import RequestInvalid
from clew.model.blocks import FILLER, THINKING_TYPES
from clew.model.json import JsonObject, JsonValue

__all__ = ["TrailingThinking", "bare", "copied", "filter_trailing_thinking", "is_thinking_block", "normalise_messages"]


class TrailingThinking(
    Struct,
    frozen=True,
    rename={"message_uuid": "messageUUID", "blocks_removed": "blocksRemoved", "remaining_blocks": "remainingBlocks"},
):
    """The last message ended in thinking, which was removed."""

    message_uuid: str | None
    blocks_removed: int
    remaining_blocks: int


def is_thinking_block(block: JsonValue) -> bool:
    """Whether a plain block is thinking, redacted or not. Anything else is not, whatever it is."""
    kind = block.get("type") if isinstance(block, dict) else None
    return isinstance(kind, str) and kind in THINKING_TYPES


def normalise_messages(messages: Sequence[JsonObject]) -> tuple[list[JsonObject], TrailingThinking | None]:
    """A copy that shares nothing with the history, without trailing thinking in its last message.

    Raises RequestInvalid if the history is nested too deeply to be copied.
    """
    try:
        return filter_trailing_thinking([copied(message) for message in messages])
    except RecursionError:
        raise RequestInvalid("the messages are nested too deeply", path="messages") from None


def filter_trailing_thinking(messages: list[JsonObject]) -> tuple[list[JsonObject], TrailingThinking | None]:
    """The messages without thinking at the end of the last one, if it is the assistant's, and what was removed.

    The very same list if there is nothing to remove. Every other field of the message is kept.
    """
    last = messages[-1] if messages else {}
    blocks = _content(last) if _role(last) == "assistant" else []
    kept = len(blocks)
    while kept and is_thinking_block(blocks[kept - 1]):
        kept -= 1
    if kept == len(blocks):
        return messages, None
    content = blocks[:kept] or [{"type": "text", "text": FILLER, "citations": []}]
    uuid = last.get("uuid")
    event = TrailingThinking(uuid if isinstance(uuid, str) else None, len(blocks) - kept, kept)
    return [*messages[:-1], _with_content(last, content)], event


def bare(message: JsonObject) -> JsonObject:
    """The message that the API gets: role and content, out of whatever envelope."""
    inner = message.get("message")
    fields = inner if isinstance(inner, dict) else message
    return {"role": _role(message), "content": fields.get("content")}


def copied(value: JsonObject) -> JsonObject:
    """A copy that shares no list and no dictionary with the value."""
    return {key: _copied(each) for key, each in value.items()}


def _copied(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return copied(value)
    return [_copied(each) for each in value] if isinstance(value, list) else value


def _role(message: JsonObject) -> JsonValue:
    inner = message.get("message")
    role = inner.get("role") if isinstance(inner, dict) else message.get("role")
    return role or message.get("type")


def _content(message: JsonObject) -> list[JsonValue]:
    inner = message.get("message")
    content = (inner if isinstance(inner, dict) else message).get("content")
    return content if isinstance(content, list) else []


def _with_content(message: JsonObject, content: list[JsonValue]) -> JsonObject:
    inner = message.get("message")
    if isinstance(inner, dict):
        return {**message, "message": {**inner, "content": content}}
    return {**message, "content": content}
