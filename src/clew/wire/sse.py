"""Server-sent events: bytes to events and back, after the HTML standard's "event stream interpretation".

`Frames` cuts a stream of bytes into whole events, wherever the network cut it. Its output is plain: no byte order mark,
every line ended by LF (CR and CRLF count as one, also when a read ends between their two halves), and always a whole number
of events, each with the empty line that ends it. Readers can then use one regular expression per read instead of one step
per line. Bytes of an unfinished event are held as they came and joined once, when its end arrives; so a peer that sends
single bytes costs linear time. Both a line and an event have a bound, checked while they grow: a peer that never ends a line
is refused before it has filled the memory.

`SseReader` reads the events. Nearly every event on an LLM stream is one `event:` line, one `data:` line, one empty line. A
regular expression takes those in C; anything else that a stream may hold (comments, data over several lines, `id`, `retry`,
fields without a colon) falls to the line reader. Both are one expression, so no byte is skipped by accident.

Bytes stay bytes: nothing is decoded here, so a broken character is reported by the code that reads text, and does not
disturb code that only passes the bytes on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain, starmap

import msgspec

from clew.errors import SseTooLarge

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class SseLimits:
    """The longest line and the longest event, in bytes."""

    line: int = 4 * 1024 * 1024
    event: int = 16 * 1024 * 1024


class Frames:
    """`feed` bytes as they come; get back the events that are whole by now, as bytes."""

    __slots__ = ("_after_cr", "_held", "_held_size", "_limits", "_line_size", "_start")

    def __init__(self, limits: SseLimits) -> None:
        self._limits = limits
        self._held: list[bytes] | None = None
        """The bytes of an event that is not whole yet; None if there is none."""
        self._held_size = 0
        self._line_size = 0
        self._after_cr = False
        self._start: bytes | None = b""

    @property
    def is_clean(self) -> bool:
        """Whether the next bytes can be read without knowing the bytes before them."""
        return self._held is None and not self._after_cr and self._start is None

    def feed(self, chunk: bytes) -> bytes:
        """The events that this chunk completes, or nothing. Raises SseTooLarge."""
        if self._start is not None or self._after_cr or b"\r" in chunk:
            chunk = self._plain(chunk)
        if self._held is None and chunk.endswith(b"\n\n") and len(chunk) <= self._limits.line:
            return chunk  # the usual read: whole events, nothing before, nothing after
        end = chunk.rfind(b"\n\n") + 2  # so much of the chunk belongs to events that end in it
        if end < 2:
            is_line_end = self._held is not None and self._held[-1].endswith(b"\n")
            end = 1 if is_line_end and chunk.startswith(b"\n") else 0
        if not end:
            self._hold(chunk)
            return b""
        whole = chunk[:end]
        if self._held is not None:
            whole, self._held = b"".join((*self._held, whole)), None
            self._held_size = self._line_size = 0
        if end < len(chunk):
            self._hold(chunk[end:])
        if len(whole) > self._limits.line:
            for event in whole.split(b"\n\n"):
                self._bound("event", len(event), self._limits.event)
                self._bound("line", max(map(len, event.split(b"\n"))), self._limits.line)
        return whole

    def flush(self) -> bytes:
        """At the end of the stream: an event whose lines are whole counts, though its empty line never came.

        The standard would drop it; servers that forget the last empty line are common, and a whole line is not a guess.
        What ends inside a line was cut, and is dropped.
        """
        held, self._held = b"".join(self._held or ()), None
        self._held_size = self._line_size = 0
        return held + b"\n" if held.endswith(b"\n") else b""

    def _plain(self, chunk: bytes) -> bytes:
        """The chunk without a byte order mark, with LF at every line's end."""
        if self._start is not None:
            opening = self._start + chunk
            if len(opening) < len(_BOM) and _BOM.startswith(opening):
                self._start = opening
                return b""
            self._start, chunk = None, opening.removeprefix(_BOM)
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
            self._after_cr = False
        if b"\r" not in chunk:
            self._after_cr = self._after_cr and not chunk
            return chunk
        self._after_cr = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _hold(self, piece: bytes) -> None:
        if not piece:
            return
        if self._held is None:
            self._held = [piece]
        else:
            self._held.append(piece)
        self._held_size += len(piece)
        line_end = piece.rfind(b"\n")
        self._line_size = len(piece) - line_end - 1 if line_end >= 0 else self._line_size + len(piece)
        self._bound("line", self._line_size, self._limits.line)
        self._bound("event", self._held_size, self._limits.event)

    def _bound(self, what: str, size: int, limit: int) -> None:
        if size > limit:
            raise SseTooLarge(f"an SSE {what} of at least {size} bytes is over the bound of {limit}", event=what)


class SseEvent(msgspec.Struct, frozen=True, gc=False):
    """One dispatched event. `name` is b"" where the stream named none; `data` is the lines of data, joined by LF."""

    name: bytes
    data: bytes


USUAL = rb"event: ([^\n]++)\ndata: ([^\n]*+)\n\n"
"""An event of two lines, as a pattern with groups for name and data."""
OTHER = rb"((?:[^\n]++\n)*+\n)"
"""Any event at all, for `read_fields`."""

_USUAL = re.compile(USUAL)
_AROUND = len(b"event: \ndata: \n\n")
_EVENTS = re.compile(USUAL + b"|" + OTHER)
_LINE_END = re.compile(rb"\r\n|[\r\n]")


class SseReader:
    """`feed` bytes as they come, `flush` at their end; the events do not depend on where the bytes were cut."""

    __slots__ = ("_frames",)

    def __init__(self, limits: SseLimits | None = None) -> None:
        self._frames = Frames(limits or SseLimits())

    @property
    def is_clean(self) -> bool:
        """Whether the next bytes can be read without knowing the bytes before them."""
        return self._frames.is_clean

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events that this chunk completes. Raises SseTooLarge."""
        return _events(self._frames.feed(chunk))

    def flush(self) -> list[SseEvent]:
        """The event that the end of the stream completes: see `Frames.flush`."""
        return _events(self._frames.flush())


def _events(whole: bytes) -> list[SseEvent]:
    pairs = _USUAL.findall(whole)
    if sum(map(len, chain.from_iterable(pairs))) + len(pairs) * _AROUND == len(whole):  # all of them, as nearly always
        return list(starmap(SseEvent, pairs))
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
"""Anthropic's own keep-alive, byte for byte."""
