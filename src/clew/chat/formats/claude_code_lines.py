"""One line of a Claude Code transcript, as far as a conversation needs it.

The format is internal to Claude Code and changes, so everything is optional, and what is not understood is passed over.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from clew.errors import BodyTooLarge
from clew.model.json import JsonValue
from clew.store.values import Usage
from clew.wire.strict_json import find_fault

__all__ = ["Entry", "Message", "decoded", "is_notice", "time_of", "usage_of", "why_broken"]

_COUNTS: Final = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


class Message(Struct, frozen=True):
    """A message as it went over the wire, nearly."""

    role: str
    content: Raw
    id: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    usage: dict[str, JsonValue] | None = None


class Entry(Struct, frozen=True, rename="camel"):
    """A line."""

    type: str = ""
    message: Raw | UnsetType = UNSET
    uuid: str | None = None
    parent_uuid: str | None = None
    session_id: str | None = None
    is_sidechain: bool | None = False
    agent_id: str | None = None
    subtype: str | None = None
    timestamp: str | None = None
    request_id: str | None = None
    requested_model: str | None = None


_entry = msgspec.json.Decoder(Entry)
_any = msgspec.json.Decoder(Raw)
_message = msgspec.json.Decoder(Message)


def decoded(raw: bytes) -> tuple[Entry, Message | None] | None:
    """The line and its message; None for JSON of another shape. Raises what the decoder raises for what is no JSON."""
    raw.decode()  # what is passed on unread must be text too
    try:
        entry = _entry.decode(raw)
        if entry.type not in ("user", "assistant") or not isinstance(entry.message, Raw):
            return entry, None
        return entry, _message.decode(entry.message)
    except msgspec.ValidationError:
        _any.decode(raw)  # the first complaint may have been about the shape of something that is broken further on
        return None


def why_broken(raw: bytes, error: Exception) -> str:
    try:
        fault = find_fault(raw, str(error))
    except BodyTooLarge as too_deep:
        return str(too_deep)
    return f"{fault.reason} (column {fault.column})"


def is_notice(message: Message) -> bool:
    """What Claude Code itself says in a model's place, errors for one. It is never sent to anybody."""
    return (message.model or "").startswith("<")


def time_of(entry: Entry) -> float | None:
    try:
        return datetime.fromisoformat(entry.timestamp or "").timestamp()
    except ValueError:
        return None


def usage_of(message: Message) -> Usage | None:
    """Every line of an answer repeats it."""
    if not message.usage:
        return None
    counts = [value if type(value) is int and value > 0 else 0 for value in map(message.usage.get, _COUNTS)]
    return Usage(input=counts[0], output=counts[1], cache_read=counts[2], cache_written=counts[3])
