"""When a process ends, whatever its threads do.

A thread of Python cannot be stopped: one that works on a huge request, or waits for a disk, a lock or a name server, would
keep the process from its end. So the process is ended without it, once what may be waited for has had its time.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

__all__ = ["Deadline"]

_PROMPTLY: Final = 0.3
"""Seconds for a process that has nothing left to do but to end."""
_CUT_OFF: Final = b"clew: ends now, although a thread is still at work. What it was doing may not be recorded.\n"


class Deadline:
    """For the block in which a process does all that it does. Runs from the first `come_closer` on, or from `begin`."""

    def __init__(self) -> None:
        self.drain_seconds: Callable[[], float] = lambda: 0.0
        """How long answers may go on,"""
        self.closing_seconds: Callable[[], float] = lambda: 1.0
        """and how long everything behind that may take."""
        self.before_the_end: Callable[[], None] = lambda: None
        self._heard = 0
        self._code: int | None = None
        self._timers: list[threading.Timer] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for timer in self._timers:
            timer.cancel()

    def come_closer(self) -> None:
        """Called for each signal to end. The first leaves time for the drain, the second for what is behind it.

        The third leaves none. No lock is taken, because a handler of signals may interrupt another one.
        """
        self._heard += 1
        if self._heard == 1:
            self.begin(self.drain_seconds() + self.closing_seconds())
        elif self._heard == 2:
            self.begin(self.closing_seconds())
        else:
            self._end()

    def begin(self, seconds: float) -> None:
        """The process has so much time from now on, if it had not less before."""
        timer = threading.Timer(seconds, self._end)
        timer.daemon = True
        timer.start()
        self._timers.append(timer)

    def has_kept(self, code: int = 0) -> None:
        """All that must be kept is kept, and nothing is left but to end: with this code, also if a thread does not."""
        self._code = code
        self.begin(_PROMPTLY)

    def _end(self) -> None:
        self.before_the_end()
        if self._code is None:
            os.write(2, _CUT_OFF)
        os._exit(1 if self._code is None else self._code)
