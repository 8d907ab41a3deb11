"""What a judged request asks: the prompt, the results of the last tools, the turn that is due, the tools on offer.

A tool loop is open from the last user message without a tool result. Messages of role `system` do not count. Its turns are
the assistant messages since.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clew.model.json import JsonObject, JsonValue
from clew.simulator.values import as_list, text_blocks


@dataclass(frozen=True, slots=True)
class ConversationState:
    """How far the open tool loop of a request has come."""

    prompt: str
    """The texts of the user message that opened it, without the reminders that clients add."""
    turn: int
    """The number of answers so far."""
    results: tuple[str, ...]
    """The results of the tools that the last answer called."""


def state_of(request: JsonObject) -> ConversationState:
    messages = [message for message in _messages(request) if message.get("role") != "system"]
    opening = (
        i
        for i, message in enumerate(messages)
        if message.get("role") == "user" and not any(block.get("type") == "tool_result" for block in _blocks(message))
    )
    start = max(opening, default=0)
    since = messages[start:]
    answers = [i for i, message in enumerate(since) if message.get("role") == "assistant"]
    results = [
        "\n".join(_texts(block.get("content")))
        for message in since[answers[-1] + 1 if answers else 0 :]
        for block in _blocks(message)
        if block.get("type") == "tool_result"
    ]
    texts = _texts(since[0].get("content")) if since else ()
    prompt = "\n".join(text for text in texts if not _is_reminder(text))
    return ConversationState(prompt=prompt, turn=len(answers), results=tuple(results))


def calls_in(request: JsonObject) -> int:
    """The number of tool calls in the whole conversation."""
    blocks = (block for message in _messages(request) for block in _blocks(message))
    return sum(block.get("type") == "tool_use" for block in blocks)


def texts_of_users(request: JsonObject) -> Iterator[str]:
    """Every text of a user, the newest first."""
    for message in reversed(_messages(request)):
        if message.get("role") == "user":
            yield from reversed([*_texts(message.get("content"))])


def tools_on_offer(request: JsonObject) -> list[JsonObject]:
    """The client's own tools that the model may call now: without server tools and deferred ones."""
    tools = [tool for tool in as_list(request.get("tools")) if isinstance(tool, dict)]
    return [tool for tool in tools if isinstance(tool.get("input_schema"), dict) and not tool.get("defer_loading")]


def _messages(request: JsonObject) -> list[JsonObject]:
    return [message for message in as_list(request.get("messages")) if isinstance(message, dict)]


def _blocks(message: JsonObject) -> list[JsonObject]:
    return [block for block in as_list(message.get("content")) if isinstance(block, dict)]


def _is_reminder(text: str) -> bool:
    text = text.strip()
    return text.startswith("<system-reminder>") and text.endswith("</system-reminder>")


def _texts(content: JsonValue) -> Iterator[str]:
    for block in text_blocks(content):
        if isinstance(block, dict) and isinstance(text := block.get("text"), str):
            yield text
