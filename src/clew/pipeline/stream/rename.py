"""The model's name as the client asked for it, inside the bytes of an answer, which otherwise stay as they came."""

from __future__ import annotations

import msgspec

from clew.errors import RequestInvalid
from clew.wire.splice import Edit, apply, locate
from clew.wire.sse import SseEvent, sse_bytes

__all__ = ["renamed", "renamed_start"]


def renamed_start(raw: bytes, event: SseEvent, model: str) -> bytes:
    """A `message_start` that names this model."""
    data = renamed(event.data, model, ("message", "model"))
    return raw if data is event.data else sse_bytes(event.name, data)


def renamed(data: bytes, model: str, path: tuple[str, ...] = ("model",)) -> bytes:
    """The JSON with that name; the very same bytes if it says so already, or names no model that could be replaced."""
    try:
        start, end = locate(data, path)
    except RequestInvalid:
        return data
    name = msgspec.json.encode(model)
    return data if data[start:end] == name else apply(data, [Edit(start, end, name)])
