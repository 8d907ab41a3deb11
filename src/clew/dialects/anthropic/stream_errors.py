"""Errors in a Messages stream, in whatever shape: relays and other vendors have one for all of their paths.

Read as events of a kind that nobody knows they would pass, and the answer would just end.
"""

from __future__ import annotations

from typing import Final

from clew.dialects.failures.reading import failure_in, failure_named
from clew.errors import StreamIllegal
from clew.model.events import Event, StreamFailed, Unknown
from clew.model.failure import ERROR_TYPES
from clew.model.loose_json import read_object
from clew.wire.events import decode_event
from clew.wire.sse import SseEvent

__all__ = ["read_any"]

_NAMED: Final = frozenset({"error", *ERROR_TYPES.values()})
_UNNAMED: Final = (b"", b"message")


def read_any(sse: SseEvent) -> Event:
    """As `decode_event`, but for errors, which may look as they like. Raises StreamIllegal."""
    try:
        event = decode_event(sse)
    except StreamIllegal:
        failed = _failed(sse)
        if failed is None:
            raise
        return failed
    return _failed(sse) or event if isinstance(event, Unknown) else event


def _failed(sse: SseEvent) -> StreamFailed | None:
    """An event with a type of its own is none, whatever is in it: the vendor may add types at any time."""
    data = read_object(sse.data) or {}
    kind = data.get("type")
    if sse.name == b"error" or (isinstance(kind, str) and kind in _NAMED):
        return failure_named(sse.data).event()
    failure = failure_in(data) if kind is None and sse.name in _UNNAMED else None
    return failure.event() if failure else None
