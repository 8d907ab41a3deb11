"""One timer for a connection: which phase its exchange is in, since when nothing happened, and when all must be over.

A stream of ten thousand events must not set ten thousand timers, and neither must ten thousand requests. So `heard` only
notes the time, and the end of an exchange not even that; when the timer goes off, it asks whether anything is due, looks at
what was noted since, and goes to sleep again for the rest. It is no timer of the loop's own, but a place in a round
(`rounds`).
`hold` is for a reader of ours that does not read: then the silence is our own, and only the total counts.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from clew.http.client.message import Phase, PhaseTimedOut
from clew.http.rounds import rounds_of

__all__ = ["Watch", "Watched"]


class Watched(Protocol):
    """Whose exchange it is."""

    @property
    def is_due(self) -> bool:
        """Is there an exchange, and is it not over?"""
        ...

    @property
    def shown_at(self) -> float:
        """When something came last that went on at once, and was not noted here (`chunks`)."""
        ...

    def expired(self, error: PhaseTimedOut) -> None:
        """Called once for an exchange, with what lasted too long."""
        ...


class Watch:
    """Watches over the exchanges of one connection."""

    __slots__ = (
        *("_held", "_limit", "_phase", "_rounds", "_total", "_watched"),
        *("began", "loop", "now", "round", "since"),
    )

    def __init__(self, watched: Watched) -> None:
        self.loop = asyncio.get_running_loop()  # once: to ask for it is a call to the system each time
        self._watched = watched
        self._rounds = rounds_of(self.loop)
        self.round = 0.0
        """When it looks next; 0 if it does not."""
        self.now = self._rounds.now
        self.since = self.now()
        """When something came last that was noted."""
        self.began = self.since
        """Since when the total counts."""
        self._total: float | None = None
        self._phase: Phase = "send"
        self._limit: float | None = None
        self._held = False

    def begin(self, phase: Phase, limit: float | None, *, total: float | None = None, began: float | None = None) -> None:
        """An exchange: its first phase, how long it may last in all, and since when that counts, if it is not now. For one
        like the last, with a `round` to look in, it will do to set `since` and `began`."""
        self._held = False
        self._total = total
        self.began = self.now() if began is None else began
        self.enter(phase, limit)

    @property
    def phase(self) -> Phase:
        return self._phase

    def enter(self, phase: Phase, limit: float | None) -> None:
        """The next phase begins, or the same once more."""
        self._phase, self._limit = phase, limit
        self.since = since = self.now()
        if self._total is not None or limit is None or not self.round or self.round > since + limit:
            self._set()  # else, as nearly always, it goes off early enough, and will look again

    def heard(self) -> None:
        """Something came."""
        self.since = self.now()

    def hold(self, held: bool) -> None:
        """Stop the phase's clock, or let it begin again."""
        self._held = held
        self.enter(self._phase, self._limit)

    def stop(self) -> None:
        """The connection is over."""
        if self.round:
            self._rounds.leave(self.round, self)
            self.round = 0.0

    def _due(self) -> float | None:
        due = None if self._limit is None or self._held else self.since + self._limit
        end = None if self._total is None else self.began + self._total
        if due is None or end is None:
            return end if due is None else due
        return min(due, end)

    def _set(self) -> None:
        due = self._due()
        if due is None or (self.round and self.round <= due):
            return
        self.stop()
        self.round = self._rounds.join(due, self)

    def look(self) -> None:
        """The moment may have come."""
        self.round = 0.0
        if not self._watched.is_due:
            return
        self.since = max(self.since, self._watched.shown_at)
        now, due = self.now(), self._due()
        if due is None or now < due:
            self._set()
        elif self._total is not None and now >= self.began + self._total:
            self._watched.expired(PhaseTimedOut("total", self._total))
        elif self._limit is not None:
            self._watched.expired(PhaseTimedOut(self._phase, self._limit))
