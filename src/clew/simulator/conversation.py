"""Reading a judged request: what was asked, what the tools gave back, how far the exchange has come, what is on offer.

An *exchange* is open from the last user message that holds no tool result; messages of role `system` do not count. Its
turns are the assistant messages since.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from clew.model.json import JsonObject, JsonValue

__all__ = ["Exchange", "calls_in", "open_exchange", "texts_of_users", "tools_on_offer"]


@dataclass(frozen=True, slots=True)
class Exchange:
    """The open exchange of a request."""

    prompt: str
    """The texts of the user message that opened it, without the reminders that clients put beside them."""
    turn: int
    """Answers given so far."""
    results: tuple[str, ...]
    """What the tools gave back to the last answer."""


def open_exchange(request: JsonObject) -> Exchange:
    """Where the conversation stands."""
    messages = [message for message in _messages(request) if message.get("role") != "system"]
    start = max((i for i, message in enumerate(messages) if _opens(message)), default=0)
    since = messages[start:]
    last = max((i for i, message in enumerate(since) if message.get("role") == "assistant"), default=-1)
    return Exchange(
        prompt="\n".join(text for text in _texts(since[0]) if not _is_reminder(text)) if since else "",
        turn=sum(message.get("role") == "assistant" for message in since),
        results=tuple(result for message in since[last + 1 :] for result in _results(message)),
    )


def calls_in(request: JsonObject) -> int:
    """How often a tool was called in the whole conversation."""
    blocks = (block for message in _messages(request) for block in _blocks(message))
    return sum(block.get("type") == "tool_use" for block in blocks)


def texts_of_users(request: JsonObject) -> Iterator[str]:
    """Every text that a user said, the newest first."""
    for message in reversed(_messages(request)):
        if message.get("role") == "user":
            yield from reversed(list(_texts(message)))


def tools_on_offer(request: JsonObject) -> list[JsonObject]:
    """The client's own tools that the model may call now: not the server's, not the deferred ones."""
    tools = [tool for tool in _list(request.get("tools")) if isinstance(tool, dict)]
    return [tool for tool in tools if isinstance(tool.get("input_schema"), dict) and not tool.get("defer_loading")]


def _messages(request: JsonObject) -> list[JsonObject]:
    return [message for message in _list(request.get("messages")) if isinstance(message, dict)]


def _opens(message: JsonObject) -> bool:
    blocks = _blocks(message)
    return message.get("role") == "user" and not any(block.get("type") == "tool_result" for block in blocks)


def _is_reminder(text: str) -> bool:
    text = text.strip()
    return text.startswith("<system-reminder>") and text.endswith("</system-reminder>")


def _texts(message: JsonObject) -> Iterator[str]:
    return _texts_of(message.get("content"))


def _texts_of(content: JsonValue) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for block in _list(content):
        if isinstance(block, dict) and isinstance(text := block.get("text"), str):
            yield text


def _results(message: JsonObject) -> Iterator[str]:
    for block in _blocks(message):
        if block.get("type") == "tool_result":
            yield "\n".join(_texts_of(block.get("content")))


def _blocks(message: JsonObject) -> list[JsonObject]:
    return [block for block in _list(message.get("content")) if isinstance(block, dict)]


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else cast(list[JsonValue], [])
