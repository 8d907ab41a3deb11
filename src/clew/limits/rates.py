"""Rates: so many requests a minute, spread evenly (GCRA). One number remembers everything."""

from __future__ import annotations

BURST = 10.0
"""Seconds of a rate that may come at once."""


class RateState:
    """Of one limit in one process. Times are of a clock that never jumps."""

    __slots__ = ("_due",)

    def __init__(self) -> None:
        self._due = 0.0
        """When the next request would come if they were spread evenly."""

    def wait(self, rate: float, now: float) -> float:
        """Seconds until a request may come; 0 if it may now. `rate` is requests a second."""
        if rate <= 0:
            return float("inf")
        return max(0.0, self._due - now - max(0.0, BURST - 1 / rate))

    def take(self, rate: float, now: float) -> None:
        """A request comes."""
        self._due = max(self._due, now) + 1 / rate
