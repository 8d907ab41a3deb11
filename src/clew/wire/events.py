"""Canonical events from server-sent events of the Anthropic dialect, and back.

The type inside the data counts, as for the official SDKs; the name on the `event:` line only where the data says
nothing. What has no name that we know is `Unknown` and keeps its bytes, `[DONE]` among them: the vendor may add event
types at any time.
"""

from __future__ import annotations

from clew.errors import StreamIllegal
from clew.model.events import (
    EVENTS,
    BlockStart,
    BlockStop,
    Event,
    MessageStop,
    Ping,
    Unknown,
    data_of,
    read_event,
    with_raw,
)
from clew.model.lenient import read_json
from clew.wire.sse import SseEvent, sse_bytes

__all__ = ["decode_event", "encode_event"]


_HEADS = {name: b"event: %b\ndata: " % name.encode() for name in EVENTS}
_LF, _CR = b"\n\r"
_ALIKE = (BlockStart, BlockStop, MessageStop, Ping)
"""Events that a vendor writes with the same bytes in every answer."""
_MOST, _LONGEST = 512, 160
_known: dict[bytes, Event] = {}


def decode_event(sse: SseEvent) -> Event:
    """Raises StreamIllegal if a known event holds no JSON, bytes that are no UTF-8, or members of the wrong shape.

    Short events that come again and again are read once; an event is a value, so it does not matter who holds it.
    """
    known = _known.get(sse.data)
    if known is not None:
        return known
    event = _read(sse)
    if isinstance(event, _ALIKE) and len(sse.data) <= _LONGEST:
        if len(_known) >= _MOST:
            _known.clear()
        _known[sse.data] = event
    return event


def _read(sse: SseEvent) -> Event:
    try:
        data = read_json(sse.data)
    except (ValueError, RecursionError) as error:
        return _unreadable(sse, error)
    if not isinstance(data, dict) or str(data.get("type")) not in EVENTS:
        return Unknown(_name(sse), sse.data)
    return with_raw(read_event(data), sse.data)


def _unreadable(sse: SseEvent, error: Exception) -> Event:
    name = _name(sse)
    if name in EVENTS:
        raise StreamIllegal(f"the data of {name} cannot be read: {error}", event=name) from None
    return Unknown(name, sse.data)


def _name(sse: SseEvent) -> str:
    """Any bytes: a name that is no UTF-8 is written back as it came."""
    return sse.name.decode(errors="surrogateescape")


def encode_event(event: Event) -> bytes:
    """The event as it goes over the wire; one that was read, with the bytes it was read from."""
    raw, head = event.raw, _HEADS.get(event.type)
    if head is not None and not (_LF in raw or _CR in raw):
        return head + (raw or data_of(event)) + b"\n\n"  # one line, and so is what is written here
    name = event.name if isinstance(event, Unknown) else event.type
    return sse_bytes(name.encode(errors="surrogateescape"), data_of(event))
