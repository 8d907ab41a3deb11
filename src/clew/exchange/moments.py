"""Moments of a stream: how much of it was here, after how many seconds. A timeline shows them.

There may be thousands of streams, which last for minutes. So the numbers of one are in an array: as tuples, they took seven
times as much.
"""

from __future__ import annotations

from array import array
from typing import Final

MOST_MOMENTS: Final = 256


class StreamMoments:
    """Of one stream, at most so many."""

    __slots__ = ("_flat",)

    def __init__(self) -> None:
        self._flat = array("d")

    def note(self, size: int, seconds: float) -> None:
        """So many bytes are here now. Of a silence, its first and its last moment are kept; of an answer that lasts for
        minutes, every second one."""
        flat = self._flat
        if len(flat) > 2 and flat[-2] == flat[-4] == size:
            del flat[-2:]
        elif len(flat) >= 2 * MOST_MOMENTS:
            kept = self.all()[::2]
            del flat[:]
            flat.extend(number for moment in kept for number in moment)
        flat.extend((size, round(seconds, 3)))

    def all(self) -> tuple[tuple[int, float], ...]:
        """All of them, as they are kept with the bodies."""
        flat = self._flat
        return tuple(zip(map(int, flat[::2]), flat[1::2], strict=True))
