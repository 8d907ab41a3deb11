"""Server-sent events: bytes to events and back, after the HTML standard's "event stream interpretation".

Nearly every event on an LLM stream is one `event:` line, one `data:` line, one empty line. A regular expression takes
those in C; whatever else a stream may hold (comments, data over several lines, `id`, `retry`, fields without a colon)
falls to the line reader below it. Both are one expression, so no byte is skipped by accident.

Bytes stay bytes: nothing is decoded here, so a broken character is reported by whoever reads text, and does not
disturb those who only pass it on.
"""

from __future__ import annotations

import re

import msgspec

from clew.wire.frames import Frames, SseLimits

__all__ = ["OTHER", "PING", "USUAL", "SseEvent", "SseLimits", "SseReader", "read_fields", "sse_bytes"]


class SseEvent(msgspec.Struct, frozen=True, gc=False):
    """One dispatched event. `name` is b"" where the stream named none; `data` is the lines of data, joined by LF."""

    name: bytes
    data: bytes


USUAL = rb"event: ([^\n]++)\ndata: ([^\n]*+)\n\n"
"""An event of two lines, as a pattern with groups for name and data."""
OTHER = rb"((?:[^\n]++\n)*+\n)"
"""Any event at all, for `read_fields`."""

_EVENTS = re.compile(USUAL + b"|" + OTHER)
_LINE_END = re.compile(rb"\r\n|[\r\n]")


class SseReader:
    """`feed` bytes as they come, `flush` at their end; the events do not depend on where the bytes were cut."""

    __slots__ = ("_frames",)

    def __init__(self, limits: SseLimits | None = None) -> None:
        self._frames = Frames(limits or SseLimits())

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events that this chunk completes. Raises SseTooLarge."""
        return _events(self._frames.feed(chunk))

    def flush(self) -> list[SseEvent]:
        """What the end of the stream completes: see `Frames.flush`."""
        return _events(self._frames.flush())


def _events(whole: bytes) -> list[SseEvent]:
    events: list[SseEvent] = []
    for name, data, other in _EVENTS.findall(whole):
        event = read_fields(other) if other else SseEvent(name, data)
        if event is not None:
            events.append(event)
    return events


def read_fields(lines: bytes) -> SseEvent | None:
    """One event, line by line; None if no line held data. `id` and `retry` serve reconnection, which no vendor offers."""
    name = b""
    data: list[bytes] = []
    for line in lines.split(b"\n"):
        field, _, value = line.partition(b":")
        if field == b"event":
            name = value.removeprefix(b" ")
        elif field == b"data":
            data.append(value.removeprefix(b" "))
    return SseEvent(name, b"\n".join(data)) if data else None


def sse_bytes(name: bytes, data: bytes) -> bytes:
    """The event as bytes. Data with line ends becomes several `data:` lines, which for JSON makes no difference."""
    assert not _LINE_END.search(name), "an event name is one line"
    head = b"event: " + name + b"\n" if name else b""
    lines = _LINE_END.sub(b"\ndata: ", data) if b"\n" in data or b"\r" in data else data
    return head + b"data: " + lines + b"\n\n"


PING = sse_bytes(b"ping", b'{"type": "ping"}')
"""The vendor's own keep-alive, byte for byte."""
