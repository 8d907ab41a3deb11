"""Rounds: one timer of the loop for all that wait for a moment that is far off, and hardly ever comes.

An open stream waits for two such moments: the next ping, and the end of the backend's patience. A timer of the loop's own
for each takes half a kilobyte, and there may be thousands of streams. So whoever waits joins a round: those whose moment is
about the same are called together, a little before it, by a thirty-second of their wait at most. They look at their own
clocks, and join another round if it is not time yet.
"""

from __future__ import annotations

import asyncio
from math import frexp, inf, ldexp
from typing import Protocol

from clew.http.loops import EachLoop

__all__ = ["Rounds", "Waits", "rounds_of"]

_LEAST = 0.001
"""Seconds: the loop's timers do not know less."""


class Waits(Protocol):
    """Something with a time limit, to be looked at when that may be up."""

    def look(self) -> None:
        """Called once, when the moment has come or nearly so."""
        ...


class Rounds:
    """Calls those who wait, in groups: moments that are close to each other, seen from now, are one round."""

    __slots__ = ("_loop", "_members", "_timer", "_when", "now")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.now = loop.time
        self._members: dict[float, set[Waits]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._when = inf

    def join(self, when: float, who: Waits) -> float:
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

    def leave(self, at: float, who: Waits) -> None:
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


rounds_of = EachLoop(Rounds)
"""All that wait in a loop share it."""
