"""Pressing: the bodies of a conversation, each compressed from where it differs from the one before.

A client tells its whole history with every turn, and to compress it each time was most of what a long conversation cost.
What a compressor puts out depends on nothing but what it was given so far. So for a body that begins as the last one of its
conversation did, a compressor that stands where the two part goes on: what was put out up to there is put out again, and
only the rest is compressed. Each outcome is a whole stream of zlib, which needs nothing but itself to be read.

What is kept for this is bounded over all; the conversation that was longest silent goes first. Belongs to one thread.
"""

from __future__ import annotations

import zlib
from collections import OrderedDict
from typing import Final, NamedTuple, Protocol, TypeAlias

__all__ = ["Presser", "pressed"]

LEAST: Final = 32 * 1024
"""Bytes of a body that is worth remembering: a copy of a compressor costs as much as to compress so many."""
LARGEST: Final = 8 << 20
"""Bytes of a body above which it is compressed anew each time: to remember it would leave no room for others."""
MOST: Final = 48 << 20

_FASTEST: Final = 1
_COMPRESSOR: Final = 270 * 1024  # about what each takes

Key: TypeAlias = tuple[str, ...]


class _Compressor(Protocol):
    """What `zlib.compressobj` makes."""

    def compress(self, data: memoryview, /) -> bytes: ...

    def flush(self) -> bytes: ...

    def copy(self) -> _Compressor: ...


class _Place(NamedTuple):
    """Where a compressor stands: it was given the first `given` bytes of the body, and put that out."""

    body: bytes
    given: int
    compressor: _Compressor
    out: bytes

    @property
    def weight(self) -> int:
        return len(self.body) + len(self.out) + _COMPRESSOR


def pressed(body: bytes) -> bytes:
    return zlib.compress(body, _FASTEST)


class Presser:
    """Compresses bodies that may go on from others."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._weight = 0
        self._places: OrderedDict[Key, _Place] = OrderedDict()

    def press(self, key: Key, body: bytes) -> bytes:
        """As `pressed` does, but for the bytes; `key` says which conversation it belongs to."""
        if len(body) < LEAST:
            return pressed(body)
        last = self._taken(key)
        if len(body) > LARGEST:
            return pressed(body)
        upto = _in_common(last.body, body) if last else 0
        if last is None or last.given > upto:
            last = _Place(b"", 0, zlib.compressobj(_FASTEST), b"")
        view, compressor = memoryview(body), last.compressor
        out = last.out + compressor.compress(view[last.given : upto])
        self._keep(key, _Place(body, upto, compressor, out))
        rest = compressor.copy()
        return b"".join([out, rest.compress(view[upto:]), rest.flush()])

    def forget(self, start: Key) -> None:
        """Let go of what is kept under all keys that begin so."""
        for key in [key for key in self._places if key[: len(start)] == start]:
            self._taken(key)

    def _taken(self, key: Key) -> _Place | None:
        last = self._places.pop(key, None)
        self._weight -= last.weight if last else 0
        return last

    def _keep(self, key: Key, place: _Place) -> None:
        self._places[key] = place
        self._weight += place.weight
        while self._weight > self._most:
            self._taken(next(iter(self._places)))


def _in_common(one: bytes, other: bytes) -> int:
    """How many bytes from the first on are the same."""
    low, high, view = 0, min(len(one), len(other)), memoryview(one)
    while low < high:
        middle = (low + high + 1) // 2
        if other.startswith(view[low:middle], low):
            low = middle
        else:
            high = middle - 1
    return low
