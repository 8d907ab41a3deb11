"""UI-style messages: plain dictionaries with `id`, `role` and a list of `parts`, as chat front ends keep them.

One message may hold text, reasoning, tool calls and their results all together, in the order in which they were shown. The
transforms of this package make copies for an API and never touch what they are given.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from clew.model.json import JsonObject, JsonValue

_CALLS = frozenset({"tool-call", "tool_use"})
_RESULTS = frozenset({"tool-result", "tool_result"})
_REASONING = frozenset({"reasoning", "reasoning-delta"})
_THINKING = frozenset({"thinking", "redacted_thinking"})

_NAMESPACE = uuid.UUID("6f9a1c1e-0b5c-5d1c-9f43-8f2b6a4d7e10")
"""Ours alone: derived ids never meet anyone else's."""


def parts_of(message: JsonObject) -> list[JsonValue] | None:
    """The message's parts; None if it has no list of them, and then no transform looks at it."""
    parts = message.get("parts")
    return parts if isinstance(parts, list) else None


def role_of(message: JsonObject) -> JsonValue:
    return message.get("role")


def with_parts(message: JsonObject, parts: Sequence[JsonValue]) -> JsonObject:
    return {**message, "parts": list(parts)}


def _kind(part: JsonValue) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    return kind if isinstance(kind, str) else ""


def is_call(part: JsonValue) -> bool:
    return _kind(part) in _CALLS


def is_result(part: JsonValue) -> bool:
    return _kind(part) in _RESULTS


def is_reasoning(part: JsonValue) -> bool:
    """Reasoning as a front end names it, before conversion."""
    return _kind(part) in _REASONING


def is_thinking_part(part: JsonValue) -> bool:
    """Thinking as the API names it, or reasoning that will become it."""
    return _kind(part) in _THINKING or is_reasoning(part)


def tool_id(part: JsonValue) -> str:
    """The id that ties a call to its result; "" if there is none."""
    fields = part if isinstance(part, dict) else {}
    ids = (fields.get(key) for key in ("toolCallId", "tool_use_id", "id"))
    return next((each for each in ids if isinstance(each, str) and each), "")


def derived_id(*names: JsonValue) -> str:
    """A UUID that depends on these names and on nothing else, so that the same history gets the same ids each time."""
    return str(uuid.uuid5(_NAMESPACE, "\x1f".join(str(name) for name in names)))


def ensure_uuid_ids(messages: Sequence[JsonObject]) -> list[JsonObject]:
    """The messages with UUIDs as ids; every other field stays, and a message that has one is the same object."""
    return [
        message if _is_uuid(message.get("id")) else {**message, "id": derived_id(message.get("id") or index)}
        for index, message in enumerate(messages)
    ]


def _is_uuid(value: JsonValue) -> bool:
    try:
        return isinstance(value, str) and str(uuid.UUID(value)) == value.lower()
    except ValueError:
        return False
