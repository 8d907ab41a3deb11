"""How commands are run without a task: until one has to wait, and again from whatever may end the wait.

What ends a wait (a read of a connection, a write of the store, a timer, a thread) only says that there may be news. Whether
there is a value, the waiting command looks itself (`Poll`).
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeAlias

from clew.exchange.commands import ExchangeCommand

WAITING: Final = object()
"""There is no value yet."""

Poll: TypeAlias = Callable[[], object]
"""The value that is waited for, or WAITING. Raises what went wrong instead."""


class Alarm:
    """Rings once, and says so."""

    __slots__ = ("_handle", "_news", "has_rung")

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float, news: Callable[[], None]) -> None:
        """After so many seconds; after none, when everybody else had a turn."""
        self.has_rung = False
        self._news = news
        self._handle = loop.call_later(seconds, self.ring) if seconds else loop.call_soon(self.ring)

    @classmethod
    def silent(cls, news: Callable[[], None]) -> Alarm:
        """One that somebody else rings."""
        alarm = cls.__new__(cls)
        alarm.has_rung, alarm._news = False, news
        return alarm

    def ring(self) -> None:
        self.has_rung = True
        self._news()

    def cancel(self) -> None:
        self._handle.cancel()

    def poll(self) -> object:
        return None if self.has_rung else WAITING


class CommandRunner(ABC):
    """Drives a coroutine of commands to its end, inside callbacks of the loop."""

    _work: Coroutine[ExchangeCommand[Any], Any, None]
    _poll: Poll | None = None
    """Looks whether the command that waits is done."""
    _alarm: Alarm | None = None
    _is_running = False

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    def news(self) -> None:
        """Something happened that the waiting command may have waited for."""
        if self._is_running or self._poll is None:
            return  # the caller that runs the commands looks by itself
        try:
            value = self._poll()
        except Exception as error:
            self._resume(error=error)
        else:
            if value is not WAITING:
                self._resume(value)

    def _resume(self, value: object = None, error: Exception | None = None) -> None:
        """Go on with what the waiting command came to."""
        self._poll = None
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        self._is_running = True
        try:
            if self._run(value, error):
                self._end()
        except Exception as failure:
            self._fail(failure)
        finally:
            self._is_running = False

    @abstractmethod
    def _run(self, value: object, error: Exception | None) -> bool:
        """Until a command has to wait. True when all is over."""

    @abstractmethod
    def _end(self) -> None: ...

    @abstractmethod
    def _fail(self, failure: Exception) -> None:
        """For a fault of clew's own."""

    def _wait_for(self, poll: Poll) -> object:
        """The value, if it is there already."""
        value = poll()
        if value is WAITING:
            self._poll = poll
        return value

    def _ring(self, seconds: float) -> Alarm:
        self._alarm = Alarm(self._loop, seconds, self.news)
        return self._alarm
