"""Chunks of HTTP/1.1 that hold one whole event and arrive in a read of their own: nearly every event of a stream.

At a place where a chunk must begin, bytes that start with their own size and end as an event ends can be read in one way
only. How they must start follows from their length, so it is computed once for each length.
"""

from __future__ import annotations

from typing import Final

WHOLE: Final = b"\n\n\r\n"
"""How a chunk ends that ends with an event. No line of framing can end so."""
_LONGEST: Final = 4096
_CRLF: Final = b"\r\n"


def body_of(chunk: bytes) -> bytes:
    """The bytes between the size line and the end of a chunk."""
    return chunk[chunk.index(b"\n") + 1 : -len(_CRLF)]


class Beginnings(dict[int, bytes]):
    """The first bytes of a chunk whose event begins with `opening`, by the length of the whole chunk.

    Of a chunk that is too long, bytes that no chunk begins with.
    """

    __slots__ = ("_opening",)

    def __init__(self, opening: bytes = b"") -> None:
        super().__init__()
        self._opening = opening

    def __missing__(self, length: int) -> bytes:
        for digits in (1, 2, 3):
            body = length - digits - len(_CRLF) - len(_CRLF)
            if 0 < body < _LONGEST and len(line := b"%x\r\n" % body) == digits + len(_CRLF):
                self[length] = begins = line + self._opening
                return begins
        return bytes(length + 1)  # no chunk begins with bytes that are longer than the chunk


SIZE_LINES: Final = Beginnings()
"""The size line of a chunk, by the length of the whole chunk."""
