"""A body for the log: whole, but with the thinking in it hidden unless it is asked for.

The log is read in other places than the conversation, by other people. So what a model thought, and the proofs that may
carry it, are said by their length. What cannot be read as JSON or as a stream of events cannot be searched for thinking
either: it is shown if nothing in it looks like thinking, and else said by its length too.
"""

from __future__ import annotations

from typing import Final

import msgspec

from clew.model.json import JsonObject, JsonValue

_THOUGHTS: Final = frozenset(
    {
        "thinking",
        "signature",
        "reasoning",
        "reasoning_content",
        "reasoning_details",
        "encrypted_content",
        "thought_signature",
    }
)
"""Fields whose text is a thought or its proof, in any dialect. As parameters they hold objects, which stay."""


def body_value(raw: bytes, *, thinking: bool) -> JsonValue:
    """JSON as a value, a stream as the list of its events' data, anything else as text."""
    try:
        return _shown(msgspec.json.decode(raw), thinking)
    except (ValueError, RecursionError):
        pass
    if raw.startswith((b"event:", b"data:", b":")):
        return [_line(line[5:].strip(), thinking) for line in raw.splitlines() if line.startswith(b"data:")]
    return _text(raw, thinking)


def _line(data: bytes, thinking: bool) -> JsonValue:
    try:
        return _shown(msgspec.json.decode(data), thinking)
    except (ValueError, RecursionError):
        return _text(data, thinking)


def _text(raw: bytes, thinking: bool) -> str:
    if not thinking and any(name.encode() in raw for name in _THOUGHTS):
        return f"[{len(raw)} bytes that cannot be read, and may hold thinking]"
    return raw.decode("utf-8", "replace")


def _shown(value: JsonValue, thinking: bool) -> JsonValue:
    if thinking:
        return value
    if isinstance(value, list):
        return [_shown(member, thinking) for member in value]
    return _object(value) if isinstance(value, dict) else value


def _object(value: JsonObject) -> JsonObject:
    hidden = _THOUGHTS | {"data"} if value.get("type") == "redacted_thinking" else _THOUGHTS
    return {name: _length(member) if name in hidden else _shown(member, False) for name, member in value.items()}


def _length(member: JsonValue) -> JsonValue:
    if isinstance(member, list):
        return f"[{len(member)} items]"
    return f"[{len(member)} characters]" if isinstance(member, str) and member else _shown(member, False)
