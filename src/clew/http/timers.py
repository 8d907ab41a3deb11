"""Timers for many connections: one timer of the event loop for all, and the phases of one exchange with a backend.

An open stream waits for two moments that hardly ever come: the next ping, and the end of a time limit. A timer of the
event loop for each takes half a kilobyte, and there may be thousands of streams. So waits that end at about the same
time form a group (`TimerGroups`). A group is called a little early, by a thirty-second of the wait at most. Its members
look at their own clocks, and join another group if it is too early.

A `PhaseTimer` belongs to one connection. A stream of ten thousand events must not set ten thousand timers, so it only
notes the time when data comes. When its group is called, it looks at the noted time, and joins a later group for the
rest.
"""

from __future__ import annotations

import asyncio
from math import frexp, inf, ldexp
from typing import Protocol

from clew.http.client.message import Phase, PhaseTimedOut
from clew.http.loops import EachLoop

_LEAST = 0.001
"""Seconds: the loop's timers do not know less."""


class TimedWait(Protocol):
    """Something with a time limit, to be looked at when that may be up."""

    def look(self) -> None:
        """Called once, when the moment has come or nearly so."""
        ...


class TimerGroups:
    """Calls those who wait, in groups: moments that are close to each other, seen from now, are one round."""

    __slots__ = ("_loop", "_members", "_timer", "_when", "now")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.now = loop.time
        self._members: dict[float, set[TimedWait]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._when = inf

    def join(self, when: float, who: TimedWait) -> float:
        """Have it called once, at that moment at the latest. Gives the round, for `leave`; none is 0."""
        now = self.now()
        wait = max(when - now, _LEAST)
        step = ldexp(1.0, frexp(wait)[1] - 6)
        at = (now + wait) // step * step
        members = self._members.get(at)
        if members is not None:
            members.add(who)
            return at
        self._members[at] = {who}
        if at < self._when:
            self._set(at)
        return at

    def leave(self, at: float, who: TimedWait) -> None:
        """Take it out of the round that `join` gave: it will not be called."""
        members = self._members.get(at)
        if members is not None:
            members.discard(who)
            if not members:
                del self._members[at]

    def _set(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._when = at
        self._timer = self._loop.call_later(max(at - self.now(), _LEAST), self._call)

    def _call(self) -> None:
        self._timer, self._when = None, inf
        now = self.now() + _LEAST
        for at in sorted(self._members):
            if at > now:
                break
            self._call_all(at)
        soonest = min(self._members, default=inf)
        if soonest < self._when:  # who was called may have set the timer, for later than others wait
            self._set(soonest)

    def _call_all(self, at: float) -> None:
        """One may make another leave, so nobody is called who is no longer there."""
        while members := self._members.get(at):
            who = members.pop()
            try:
                who.look()
            except Exception as error:
                self._loop.call_exception_handler({"message": "a wait ended badly", "exception": error})
        self._members.pop(at, None)


timer_groups_of = EachLoop(TimerGroups)
"""All that wait in a loop share it."""


class TimedExchange(Protocol):
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


class PhaseTimer:
    """Watches over the exchanges of one connection."""

    __slots__ = (
        *("_held", "_limit", "_phase", "_groups", "_total", "_exchange"),
        *("began", "loop", "now", "group_at", "since"),
    )

    def __init__(self, exchange: TimedExchange) -> None:
        self.loop = asyncio.get_running_loop()  # once: to ask for it is a call to the system each time
        self._exchange = exchange
        self._groups = timer_groups_of(self.loop)
        self.group_at = 0.0
        """When it looks next; 0 if it does not."""
        self.now = self._groups.now
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
        if self._total is not None or limit is None or not self.group_at or self.group_at > since + limit:
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
        if self.group_at:
            self._groups.leave(self.group_at, self)
            self.group_at = 0.0

    def _due(self) -> float | None:
        due = None if self._limit is None or self._held else self.since + self._limit
        end = None if self._total is None else self.began + self._total
        if due is None or end is None:
            return end if due is None else due
        return min(due, end)

    def _set(self) -> None:
        due = self._due()
        if due is None or (self.group_at and self.group_at <= due):
            return
        self.stop()
        self.group_at = self._groups.join(due, self)

    def look(self) -> None:
        """The moment may have come."""
        self.group_at = 0.0
        if not self._exchange.is_due:
            return
        self.since = max(self.since, self._exchange.shown_at)
        now, due = self.now(), self._due()
        if due is None or now < due:
            self._set()
        elif self._total is not None and now >= self.began + self._total:
            self._exchange.expired(PhaseTimedOut("total", self._total))
        elif self._limit is not None:
            self._exchange.expired(PhaseTimedOut(self._phase, self._limit))
