"""Silence: when a client of a stream that hears nothing gets a sign of life.

In another dialect a backend may send much of which nothing can be shown: comments, or thoughts that it hides. Then there is
a ping every second, for as long as something comes.
"""

from __future__ import annotations

from typing import Final, NamedTuple

HIDDEN_SECONDS: Final = 1.0
"""Between two pings while a backend sends what nobody can see."""
_EARLY: Final = 0.001
"""Seconds by which a timer may be early."""


class SilenceCheck(NamedTuple):
    """Whether a ping is due, and after how many seconds to look again."""

    is_due: bool
    wait: float


class SilenceWatch:
    """Of one client. Without a clock: each call says what time it is."""

    __slots__ = ("hides", "last", "seconds")

    def __init__(self, seconds: float, now: float) -> None:
        """`seconds`: how long the client may hear nothing."""
        self.seconds = seconds
        self.hides = False
        """Not all that comes can be shown."""
        self.last = now
        """When something went to the client last."""

    def check(self, now: float, heard: float = 0.0, shown: float = 0.0) -> SilenceCheck:
        """`heard`, `shown`: when the backend said something last, and when that went on at once."""
        self.last = max(self.last, shown)
        quiet = now - (self.last if self.hides else max(self.last, heard))
        patience = min(HIDDEN_SECONDS, self.seconds) if self.hides else self.seconds
        is_due = quiet + _EARLY >= (patience if heard > self.last else self.seconds)
        if is_due:
            self.last, quiet = now, 0.0
        return SilenceCheck(is_due, max(patience - quiet, 0.0) or patience)
