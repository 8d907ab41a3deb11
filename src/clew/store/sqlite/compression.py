"""Compression of bodies: each body of a conversation is compressed from where it differs from the one before.

A client sends its whole history with every turn, and compressing it each time was most of what a long conversation cost. The
output of a compressor depends on nothing but its input so far. So a body that begins as the previous one of its conversation
goes on with a compressor that stands where the two differ: the output up to there is reused, and only the rest is
compressed. Each result is a complete zlib stream, which can be read by itself.

The compressors that are kept for this are bounded in bytes; the conversation that was silent for longest goes first. Belongs
to one thread.
"""

from __future__ import annotations

import zlib
from collections import OrderedDict
from typing import Final, NamedTuple, Protocol, TypeAlias

LEAST: Final = 32 * 1024
"""Bytes of a body that is worth remembering: a copy of a compressor costs as much as compressing so many."""
LARGEST: Final = 8 << 20
"""Bytes of a body above which it is compressed anew each time: remembering it would leave no room for others."""
MOST: Final = 48 << 20

ZLIB_START: Final = b"\x78"
"""The first byte of every compressed value. No JSON text begins so, and no MessagePack array of three."""

_FASTEST: Final = 1
_COMPRESSOR: Final = 270 * 1024  # about what each takes

Key: TypeAlias = tuple[str, ...]


class _Compressor(Protocol):
    """What `zlib.compressobj` makes."""

    def compress(self, data: memoryview, /) -> bytes: ...

    def flush(self) -> bytes: ...

    def copy(self) -> _Compressor: ...


class _Position(NamedTuple):
    """Where a compressor stands: `given` bytes of the body went in, and `out` came out."""

    body: bytes
    given: int
    compressor: _Compressor
    out: bytes

    @property
    def weight(self) -> int:
        return len(self.body) + len(self.out) + _COMPRESSOR


def compress(body: bytes) -> bytes:
    return zlib.compress(body, _FASTEST)


class HistoryCompressor:
    """Compresses bodies of which each may begin as the one before."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._weight = 0
        self._positions: OrderedDict[Key, _Position] = OrderedDict()

    def compress(self, key: Key, body: bytes) -> bytes:
        """A zlib stream of the body; `key` says which conversation it belongs to."""
        if len(body) < LEAST:
            return compress(body)
        last = self._pop(key)
        if len(body) > LARGEST:
            return compress(body)
        upto = _common_length(last.body, body) if last else 0
        if last is None or last.given > upto:
            last = _Position(b"", 0, zlib.compressobj(_FASTEST), b"")
        view, compressor = memoryview(body), last.compressor
        out = last.out + compressor.compress(view[last.given : upto])
        self._positions[key] = position = _Position(body, upto, compressor, out)
        self._weight += position.weight
        while self._weight > self._most:
            self._pop(next(iter(self._positions)))
        rest = compressor.copy()
        return b"".join([out, rest.compress(view[upto:]), rest.flush()])

    def forget(self, start: Key) -> None:
        """Drop what is kept under all keys that begin so."""
        for key in [key for key in self._positions if key[: len(start)] == start]:
            self._pop(key)

    def _pop(self, key: Key) -> _Position | None:
        last = self._positions.pop(key, None)
        self._weight -= last.weight if last else 0
        return last


def _common_length(one: bytes, other: bytes) -> int:
    """How many bytes from the first on are the same."""
    low, high, view = 0, min(len(one), len(other)), memoryview(one)
    while low < high:
        middle = (low + high + 1) // 2
        if other.startswith(view[low:middle], low):
            low = middle
        else:
            high = middle - 1
    return low
