"""A chunk that is a read of its own, and goes on as it came, framing and all.

Nearly every event of a stream comes so, one by one. Then the parser has nothing to find out: between two chunks, bytes that
begin with the very size that they have, and end as a chunk with an event does, can be read in one way only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from clew.http.client_reader import WHOLE, ResponseReader
from clew.http.client_watch import Watch

__all__ = ["Verbatim", "flowing"]

_LONGEST = 4096
_END = len(b"\r\n")
_NONE = b"\n"
"""No size line is like that."""


class Verbatim(NamedTuple):
    """Whoever takes chunks as they come."""

    passes: Callable[[bytes, int], bool]
    """Whether this chunk may go on so; its body begins there. If not, it comes the usual way."""
    push: Callable[[bytes], None]
    """Lets it go on."""


def flowing(
    reader: ResponseReader, watch: Watch, to: Verbatim, failed: Callable[[Exception], None]
) -> Callable[[bytes], bool]:
    """Whether a read was one chunk, and went on; `failed` hears of what goes wrong then.

    Bound once and written in one piece, for it is called for every event.
    """
    passes, push, now = to.passes, to.push, watch.now

    def flow(data: bytes) -> bool:
        size = len(data)
        line = _SIZE_LINES[size]
        if not (reader.is_level and data.startswith(line) and data.endswith(WHOLE)):
            return False
        try:
            if size > reader.room or not passes(data, len(line)):
                return False
            push(data)
        except Exception as error:
            failed(error)
        reader.room -= size
        watch.since = now()
        return True

    return flow


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
