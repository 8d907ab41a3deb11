"""A chunk that is a read of its own, and goes on as one, framing and all: as it came, or with another body.

Nearly every event of a stream comes so, one by one. Then the parser has nothing to find out: between two chunks, bytes that
begin with the very size that they have, and end as a chunk with an event does, can be read in one way only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from clew.http.client_reader import WHOLE, ResponseReader
from clew.http.client_watch import Watch

__all__ = ["Behind", "Pushes", "Verbatim"]

_LONGEST = 4096
_END = len(b"\r\n")
_NONE = b"\n"
"""No size line is like that."""


class Pushes(Protocol):
    """Whoever lets chunks go on."""

    def push_framed(self, data: bytes) -> bool:
        """False if who gets it is behind or gone."""
        ...


class Behind(Protocol):
    """Whoever waits then."""

    def falls_behind(self) -> None: ...


@dataclass(slots=True)
class Verbatim:
    """Whoever takes chunks as they come. No closures: there may be thousands of streams that hardly ever say something."""

    passes: Callable[[bytes, int], bytes]
    """What goes on for this chunk, whose body begins there; b"" if it has to come the usual way."""
    out: Pushes
    passing: Behind

    def takes(self, data: bytes, reader: ResponseReader, watch: Watch) -> bool:
        """Whether a read was one chunk, and went on. Written in one piece, for it is called for every event."""
        size = len(data)
        line = _SIZE_LINES[size]
        if not (reader.is_level and data.startswith(line) and data.endswith(WHOLE)):
            return False
        if size > reader.room or not (new := self.passes(data, len(line))):
            return False
        reader.room -= size
        watch.since = watch.shown = watch.now()
        if not self.out.push_framed(new):
            self.passing.falls_behind()
        return True


class _SizeLines(dict[int, bytes]):
    """The line that a chunk begins with, by the length of all of it. For one that is unusually long, none."""

    def __missing__(self, length: int) -> bytes:
        if length > _LONGEST:
            return _NONE
        self[length] = line = _line_of(length)
        return line


def _line_of(length: int) -> bytes:
    for digits in (1, 2, 3, 4):
        body = length - digits - _END - _END
        if body > 0 and len(line := b"%x\r\n" % body) == digits + _END:
            return line
    return _NONE


_SIZE_LINES: Final = _SizeLines()
