"""The lines of a read, cut once for all runs in it.

An event is one line and an empty one, nearly always. Where it is not, what is given for events may be anything that stands
there: whoever uses them holds them against the bytes.
"""

from __future__ import annotations

from io import BytesIO
from typing import Final

__all__ = ["Lines"]

_AT_ONCE: Final = 256 * 1024
"""Bytes that are cut together."""
_FEWEST, _MOST = 16, 512
"""Events that are given together: few at first, and many where all were used, so that little is done in vain where runs are
short."""
_MORE: Final = 8


class Lines:
    """Whole events, as they were read."""

    __slots__ = ("_count", "_events", "_number", "_place", "whole")

    def __init__(self, whole: bytes) -> None:
        self.whole = whole
        self._events: list[bytes] = []
        self._number = self._place = 0  # of the event that comes next, or did when it was last known
        self._count = _FEWEST

    def events_at(self, at: int) -> list[bytes]:
        """The next events from this place on, without the empty lines behind them. Asked for in the order of the places."""
        events, number, place = self._events, self._number, self._place
        while place < at and number < len(events):
            place += len(events[number]) + 1
            number += 1
        if place != at or number == len(events):
            self._events, number = self._cut(at), 0
        self._number, self._place = number, at
        count, self._count = self._count, _FEWEST
        return self._events[number : number + count]

    def passed(self, events: int, end: int) -> None:
        """So many of those that were asked for last are done with, up to here."""
        self._number += events
        self._place = end
        self._count = min(max(_FEWEST, events * _MORE), _MOST)

    def _cut(self, at: int) -> list[bytes]:
        lines = BytesIO(self.whole)  # which finds line ends several times as fast as `split` does
        lines.seek(at)
        return lines.readlines(_AT_ONCE)[::2]
