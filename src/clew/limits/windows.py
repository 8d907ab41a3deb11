"""Windows: the spans of time that a limit counts in. They are the same on every gateway, and need no memory.

A window begins at a multiple of its length since the epoch, in UTC: an hour at the full hour, a day at midnight, seven days
on Monday. So the end of a window is known from the time alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

HOUR: Final = 3600
DAY: Final = 24 * HOUR
MINUTE: Final = 60

WINDOWS: Final[Mapping[str, int]] = {
    "1m": MINUTE,
    "1h": HOUR,
    "5h": 5 * HOUR,
    "1d": DAY,
    "7d": 7 * DAY,
    "30d": 30 * DAY,
}
"""Seconds of each window, by the name that people type."""
_NAMES: Final = {seconds: name for name, seconds in WINDOWS.items()}
_MONDAY: Final = 4 * DAY
"""From the epoch, a Thursday, to the first Monday."""


class Window(NamedTuple):
    """From `start` up to, and without, `end`. Seconds since the epoch."""

    start: int
    end: int


def window_at(now: float, seconds: int) -> Window:
    """The window of this length that a moment lies in.

    >>> window_at(7300.5, HOUR)
    Window(start=7200, end=10800)
    """
    first = _MONDAY if seconds == WINDOWS["7d"] else 0
    start = int((now - first) // seconds) * seconds + first
    return Window(start, start + seconds)


def window_name(seconds: int) -> str:
    """The name of a window as a command takes it; "" for no window."""
    return _NAMES.get(seconds, f"{seconds}s" if seconds else "")
