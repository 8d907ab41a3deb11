"""The model's name as the client asked for it, inside the bytes of an answer, which otherwise stay as they came."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from clew.errors import RequestInvalid
from clew.wire.splice import Edit, apply, locate
from clew.wire.sse import SseEvent, sse_bytes

__all__ = ["renamed", "renamed_start"]


class _Message(Struct):
    model: str = ""


class _Start(Struct):
    message: _Message | None = None


_message = msgspec.json.Decoder(_Message)
_start = msgspec.json.Decoder(_Start)


def _named(data: bytes, path: tuple[str, ...]) -> str:
    """The model that it names, nearly always the right one; "" if that cannot be read at a glance."""
    try:
        found = _message.decode(data) if len(path) == 1 else _start.decode(data).message
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""
    return found.model if found else ""


def renamed_start(raw: bytes, event: SseEvent, model: str) -> bytes:
    """A `message_start` that names this model."""
    data = renamed(event.data, model, ("message", "model"))
    return raw if data is event.data else sse_bytes(event.name, data)


def renamed(data: bytes, model: str, path: tuple[str, ...] = ("model",)) -> bytes:
    """The JSON with that name; the very same bytes if it says so already, or names no model that could be replaced."""
    if _named(data, path) == model:
        return data
    try:
        start, end = locate(data, path)
    except RequestInvalid:
        return data
    name = msgspec.json.encode(model)
    return data if data[start:end] == name else apply(data, [Edit(start, end, name)])
