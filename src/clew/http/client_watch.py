"""One timer for a whole exchange: which phase it is in, since when nothing happened, and when all must be over.

A stream of ten thousand events must not set ten thousand timers. So `heard` only notes the time; when the timer goes off, it
looks at what was noted since, and goes to sleep again for the rest. `hold` is for a reader of ours that does not read: then
the silence is our own, and only the total counts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from clew.http.client_message import Phase, PhaseTimedOut

__all__ = ["Watch"]


class Watch:
    """Calls `expired` once, with what lasted too long."""

    def __init__(
        self, expired: Callable[[PhaseTimedOut], None], *, total: float | None = None, began: float | None = None
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._expired = expired
        self._total = total
        began = self._loop.time() if began is None else began
        self._end = None if total is None else began + total
        self._phase: Phase = "send"
        self._limit: float | None = None
        self.since = began
        """When something came last."""
        self._held = False
        self._timer: asyncio.TimerHandle | None = None

    @property
    def phase(self) -> Phase:
        return self._phase

    def enter(self, phase: Phase, limit: float | None) -> None:
        """The next phase begins, or the same once more."""
        self._phase, self._limit = phase, limit
        self.heard()
        self._set()

    def heard(self) -> None:
        """Something came."""
        self.since = self._loop.time()

    def hold(self, held: bool) -> None:
        """Stop the phase's clock, or let it begin again."""
        self._held = held
        self.enter(self._phase, self._limit)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _due(self) -> float | None:
        due = None if self._limit is None or self._held else self.since + self._limit
        ends = [moment for moment in (due, self._end) if moment is not None]
        return min(ends, default=None)

    def _set(self) -> None:
        due = self._due()
        if self._timer is not None and due is not None and self._timer.when() <= due:
            return  # it goes off early enough, and will look again
        self.stop()
        if due is not None:
            self._timer = self._loop.call_at(due, self._look)

    def _look(self) -> None:
        self._timer = None
        now, due = self._loop.time(), self._due()
        if due is None or now < due:
            self._set()
        elif self._total is not None and self._end is not None and now >= self._end:
            self._expired(PhaseTimedOut("total", self._total))
        elif self._limit is not None:
            self._expired(PhaseTimedOut(self._phase, self._limit))
