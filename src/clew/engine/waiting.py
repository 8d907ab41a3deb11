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


class CommandRunner(ABC):
    """Drives a coroutine of commands to its end, inside callbacks of the loop."""

    _work: Coroutine[ExchangeCommand[Any], Any, None]
    _poll: Poll | None = None
    """Looks whether the command that waits is done. None: no command waits, or one that only waits for its timer."""
    _timer: asyncio.Handle | None = None
    """Of the command that waits."""
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
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._is_running = True
        try:
            if self._carry_out(value, error):
                self._end()
        except Exception as failure:
            self._fail(failure)
        finally:
            self._is_running = False

    @abstractmethod
    def _carry_out(self, value: object, error: Exception | None) -> bool:
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
