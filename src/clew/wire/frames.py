"""Cuts a stream of bytes into whole server-sent events, wherever the network cut it.

What comes out is plain: no byte order mark, every line ended by LF (CR and CRLF count as one, also when a read ends
between their two halves), and always a whole number of events, each with the empty line that ends it. Readers can then
work with one regular expression per read instead of one step per line.

Bytes of an unfinished event are held as they came and joined once, when its end arrives; so a peer that sends single
bytes costs linear time. Both a line and an event have a bound, checked while they grow: a peer that never ends a line
is refused before it has filled the memory.
"""

from __future__ import annotations

from dataclasses import dataclass

from clew.errors import SseTooLarge

__all__ = ["Frames", "SseLimits"]

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class SseLimits:
    """The longest line and the longest event, in bytes."""

    line: int = 4 * 1024 * 1024
    event: int = 16 * 1024 * 1024


class Frames:
    """`feed` bytes as they come; get back the events that are whole by now, as bytes."""

    __slots__ = ("_after_cr", "_held", "_held_size", "_limits", "_line_size", "_start", "is_clean")

    def __init__(self, limits: SseLimits) -> None:
        self._limits = limits
        self._held: list[bytes] | None = None
        """Of an event that is not whole; there only while one is."""
        self._held_size = 0
        self._line_size = 0
        self._after_cr = False
        self._start: bytes | None = b""
        self.is_clean = False
        """Nothing of what came so far has to do with what comes next."""

    def feed(self, chunk: bytes) -> bytes:
        """The events that this chunk completes, or nothing. Raises SseTooLarge."""
        whole = self._completed(chunk)
        self.is_clean = self._held is None and not self._after_cr and self._start is None
        return whole

    def _completed(self, chunk: bytes) -> bytes:
        if self._start is not None or self._after_cr or b"\r" in chunk:
            chunk = self._plain(chunk)
        if self._held is None and chunk.endswith(b"\n\n") and len(chunk) <= self._limits.line:
            return chunk  # the usual read: whole events, nothing before, nothing after
        end = self._end_in(chunk)
        if not end:
            self._hold(chunk)
            return b""
        whole = self._release(chunk[:end])
        if end < len(chunk):
            self._hold(chunk[end:])
        if len(whole) > self._limits.line:
            self._check(whole)
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
        if self._start is not None:
            chunk = self._without_bom(self._start + chunk)
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
            self._after_cr = False
        if b"\r" not in chunk:
            self._after_cr = self._after_cr and not chunk
            return chunk
        self._after_cr = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _without_bom(self, opening: bytes) -> bytes:
        if len(opening) < len(_BOM) and _BOM.startswith(opening):
            self._start = opening
            return b""
        self._start = None
        return opening.removeprefix(_BOM)

    def _end_in(self, chunk: bytes) -> int:
        """How much of the chunk belongs to events that end in it."""
        last = chunk.rfind(b"\n\n")
        if last >= 0:
            return last + 2
        line_ended = self._held is not None and self._held[-1].endswith(b"\n")
        return 1 if line_ended and chunk.startswith(b"\n") else 0

    def _release(self, rest: bytes) -> bytes:
        if self._held is None:
            return rest
        whole, self._held = b"".join((*self._held, rest)), None
        self._held_size = self._line_size = 0
        return whole

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

    def _check(self, whole: bytes) -> None:
        for event in whole.split(b"\n\n"):
            self._bound("event", len(event), self._limits.event)
            self._bound("line", max(map(len, event.split(b"\n"))), self._limits.line)

    def _bound(self, what: str, size: int, limit: int) -> None:
        if size > limit:
            raise SseTooLarge(f"an SSE {what} of at least {size} bytes is over the bound of {limit}", event=what)
