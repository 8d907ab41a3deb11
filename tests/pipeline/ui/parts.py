"""Builders for UI-style messages."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def text(words: str, **more: Any) -> Json:
    return {"type": "text", "text": words, **more}


def reasoning(words: str, signature: str | None = None, **more: Any) -> Json:
    metadata = {} if signature is None else {"providerMetadata": {"anthropic": {"signature": signature}}}
    return {"type": "reasoning", "text": words, **metadata, **more}


def thinking(words: str, **more: Any) -> Json:
    return {"type": "thinking", "thinking": words, **more}


def call(id: str) -> Json:
    return {"type": "tool-call", "toolCallId": id, "toolName": "search", "args": {"q": id}}


def result(id: str) -> Json:
    return {"type": "tool-result", "toolCallId": id, "toolName": "search", "result": {"found": id}}


def user(*parts: Any, id: str = "u") -> Json:
    return {"id": id, "role": "user", "parts": _parts(parts)}


def assistant(*parts: Any, id: str = "a", **more: Any) -> Json:
    return {"id": id, "role": "assistant", "parts": _parts(parts), **more}


def _parts(parts: tuple[Any, ...]) -> list[Json]:
    return [text(part) if isinstance(part, str) else part for part in parts]


def shape(messages: list[Json]) -> list[tuple[str, list[Json]]]:
    """Roles and parts, without ids and other fields."""
    return [(message["role"], message["parts"]) for message in messages]
