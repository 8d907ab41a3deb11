"""A clock that a test moves: on every loop that is started under it, time stands still until the test lets some pass.

Limits on silence are seconds and minutes. A test must not wait for them, and must not ask a busy machine to be quick. Under this
clock nothing that goes on takes any time, so no limit can be missed by slowness:

    def test_silence(clock: Clock, gating: Gating, a: Simulator) -> None:   # `clock` first: loops started before it keep real time
        asked = asking(gate, question())
        until(lambda: len(a.journal()) == 1)
        clock.pass_time(60)
        assert asked.result().status == 504

Time passes from timer to timer, and only while all loops are idle: none has a callback to run or bytes to read. Threads that are no
loop (a store's writer, a blocking client) are not seen. Wait for what they do before time passes.
"""

from __future__ import annotations

import asyncio
import selectors
import threading
import time
from collections.abc import Iterator
from math import inf
from typing import Any

__all__ = ["Clock", "ClockedLoop"]

HANG_SECONDS = 120.0
"""Of real time, for loops to become idle. It only detects hangs."""


class Clock:
    """The time of all loops that it made."""

    def __init__(self) -> None:
        self._now = 1000.0
        self._released: float | None = None
        self._loops: list[ClockedLoop] = []

    def now(self) -> float:
        return self._now if self._released is None else self._now + time.monotonic() - self._released

    @property
    def stands(self) -> bool:
        return self._released is None

    def release(self) -> None:
        """Let time pass by itself from now on, for servers that are closed."""
        self._released = time.monotonic()
        self._wake()

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        loop = ClockedLoop(self)
        self._loops.append(loop)
        return loop

    def pass_time(self, seconds: float) -> None:
        """Let so much time pass, and let everything happen that is due in it."""
        end = self._now + seconds
        self._wait_until_idle()
        while (due := min(self._timers(), default=inf)) <= end:
            self._move(due)
        self._move(end)

    def is_due_in(self, seconds: float) -> bool:
        """Whether a timer ends just then: a limit of so many seconds has begun."""
        return any(abs(due - self._now - seconds) < 0.001 for due in self._timers())

    def _move(self, now: float) -> None:
        self._now = max(self._now, now)
        self._wake()
        self._wait_until_idle()

    def _wake(self) -> None:
        for loop in self._running():
            loop.call_soon_threadsafe(lambda: None)  # it looks at the clock again

    def _timers(self) -> Iterator[float]:
        for loop in self._running():
            yield from loop.due()

    def _running(self) -> list[ClockedLoop]:
        return [loop for loop in self._loops if loop.is_running()]

    def _wait_until_idle(self) -> None:
        limit = time.monotonic() + HANG_SECONDS
        while not self._is_idle():
            assert time.monotonic() < limit, "the loops do not become idle"
            time.sleep(0.0005)

    def _is_idle(self) -> bool:
        """All loops were idle at one moment: none ran between the first look and the last."""
        loops = self._running()
        before = [loop.rounds for loop in loops]
        return all(loop.is_idle() for loop in loops) and [loop.rounds for loop in loops] == before


class ClockedLoop(asyncio.SelectorEventLoop):
    """asyncio's own loop, with another clock."""

    def __init__(self, clock: Clock) -> None:
        self._waiting = _Waiting(clock)
        super().__init__(self._waiting)
        self._of = clock

    def time(self) -> float:
        return self._of.now()

    @property
    def rounds(self) -> int:
        return self._waiting.rounds

    def is_idle(self) -> bool:
        return self._waiting.is_idle()

    def due(self) -> list[float]:
        """When its timers are due."""
        scheduled: list[Any] = list(getattr(self, "_scheduled"))  # noqa: B009  (private, and there is no other way)
        return [handle.when() for handle in scheduled if not handle.cancelled()]


class _Waiting(selectors.DefaultSelector):  # type: ignore[valid-type,misc]
    """Waits for bytes and for `call_soon_threadsafe`, however long that takes, while the clock stands."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self.rounds = 0
        self._is_waiting = threading.Event()

    def select(self, timeout: float | None = None) -> Any:
        self.rounds += 1
        if timeout is not None and timeout <= 0:
            return super().select(0)
        self._is_waiting.set()
        try:
            return super().select(None if self._clock.stands else timeout)
        finally:
            self._is_waiting.clear()

    def is_idle(self) -> bool:
        return self._is_waiting.is_set() and not super().select(0)
