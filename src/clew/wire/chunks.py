"""A chunk of HTTP/1.1 that is one event and nothing else, and came in a read of its own: nearly every event of a stream.

Where a chunk has to begin, bytes that begin with the very size that they have, and end as a chunk with an event does, can be
read in one way only. How they have to begin follows from their length, and is written once for all.
"""

from __future__ import annotations

from typing import Final

__all__ = ["SIZE_LINES", "WHOLE", "Beginnings", "body_of"]

WHOLE: Final = b"\n\n\r\n"
"""How a chunk ends that ends with an event. No line of framing can end so."""
_LONGEST: Final = 4096
_CRLF: Final = b"\r\n"


def body_of(chunk: bytes) -> bytes:
    """What stands between its size and its end."""
    return chunk[chunk.index(b"\n") + 1 : -len(_CRLF)]


class Beginnings(dict[int, bytes]):
    """How a chunk begins whose event begins with `opening`, by the length of all of it; as none does, if it is too long."""

    __slots__ = ("_opening",)

    def __init__(self, opening: bytes = b"") -> None:
        super().__init__()
        self._opening = opening

    def __missing__(self, length: int) -> bytes:
        line = _size_line(length)
        if not line:
            return bytes(length + 1)  # nothing begins with what is longer
        self[length] = begins = line + self._opening
        return begins


def _size_line(length: int) -> bytes:
    for digits in (1, 2, 3):
        body = length - digits - len(_CRLF) - len(_CRLF)
        if 0 < body < _LONGEST and len(line := b"%x\r\n" % body) == digits + len(_CRLF):
            return line
    return b""


SIZE_LINES: Final = Beginnings()
"""The line with the size, and no more."""
