"""Runs: the answers that come now, one at a time in a thread, and those whose end nobody heard yet.

A connection that is lost stops nothing. So an answer that nobody listens to goes on, and is kept for a while after its end,
for whoever comes back; but who asks the next thing in that thread has no more interest in it, and it is stopped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Final, TypeAlias

from clew.admin.chat.run import Run
from clew.admin.problem import Problem

__all__ = ["Place", "Runs"]

Place: TypeAlias = tuple[str, str]
"""A principal, and one of its threads."""

MOST: Final = 64
"""Answers at the same time, of all principals."""
KEPT_SECONDS: Final = 60.0
KEPT_BYTES: Final = 32 * 1024 * 1024
LEAVING_SECONDS: Final = 0.5
"""How long somebody who hung up may take until that is seen."""
_WAIT_SECONDS: Final = 2


class Runs:
    """By the thread that each is in."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self.draining = False
        self._clock = clock
        self._runs: dict[Place, Run] = {}
        self._unheard: dict[Place, float] = {}
        """Those that are over, and when they were, the oldest first."""

    @property
    def running(self) -> int:
        return sum(1 for _ in self._under_way())

    def find(self, place: Place) -> Run | None:
        """The one that comes, or whose end nobody heard."""
        self._tidy()
        return self._runs.get(place)

    async def begin(self, place: Place, most: int = MOST) -> Run:
        """A new one in this thread, for somebody who may have so many. Raises Problem while somebody listens to another."""
        before = self._runs.get(place)
        if before is not None and not before.over.is_set():
            if not await before.deserted(LEAVING_SECONDS):
                raise _taken()
            await before.stop()
        self._check_room(place, most)
        self._forget(place)
        run = self._runs[place] = Run()
        return run

    def _check_room(self, place: Place, most: int) -> None:
        now = self._runs.get(place)
        if now is not None and not now.over.is_set():
            raise _taken()
        if self.draining:
            raise Problem(503, "the gateway is ending", "it takes no new questions", "ask again when it is back")
        if sum(1 for _ in self._under_way(place[0])) >= most:
            raise _too_many(429, f"{most} of yours are under way, as many as `[chat] max_answers` allows")
        if self.running >= MOST:
            raise _too_many(503, f"{MOST} are under way")

    def ended(self, place: Place, run: Run) -> None:
        """It is over. One whose end somebody hears anyway is not kept."""
        if self._runs.get(place) is run:
            self._unheard[place] = self._clock()
            self._tidy()

    def _tidy(self) -> None:
        oldest = self._clock() - KEPT_SECONDS
        total = sum(self._runs[place].size for place in self._unheard)
        for place, since in list(self._unheard.items()):
            run = self._runs[place]
            if run.was_heard or since < oldest or total > KEPT_BYTES:
                total -= run.size
                self._forget(place)

    def _forget(self, place: Place) -> None:
        self._runs.pop(place, None)
        self._unheard.pop(place, None)

    def _under_way(self, principal: str | None = None) -> Iterator[Run]:
        """Anybody's, or one principal's."""
        own = (run for (whose, _), run in self._runs.items() if principal in (None, whose))
        return (run for run in own if not run.over.is_set())

    async def stop(self, place: Place) -> bool:
        """End the one in this thread; what was finished is kept when this returns. False if there is none."""
        run = self._runs.get(place)
        if run is None or run.over.is_set():
            return False
        await run.stop()
        return True

    async def drain(self, seconds: float) -> None:
        """Begin no new ones, let those that come go on for so long, and then end them."""
        self.draining = True
        waiting = [asyncio.ensure_future(run.over.wait()) for run in self._under_way()]
        if waiting:
            await asyncio.wait(waiting, timeout=seconds)
        await self.close()

    async def close(self) -> None:
        """End them all now."""
        self.draining = True
        await asyncio.gather(*(run.stop() for run in self._under_way()), return_exceptions=True)


def _too_many(status: int, why: str) -> Problem:
    return Problem(status, "too many answers at once", why, "try again when one has ended", retry_after=_WAIT_SECONDS)


def _taken() -> Problem:
    return Problem(
        409,
        "an answer is under way in this chat",
        "somebody listens to it, and a chat has one answer at a time",
        "wait for its end, follow it with GET …/stream, or stop it with DELETE …/stream",
    )
