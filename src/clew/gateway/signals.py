"""The signals to end: the first asks, the second insists, and time does the rest.

SIGTERM and SIGINT mean the same. After the first, streams may go on for a while; after the second nothing is waited for.
Both are heard between two steps of Python, also while the event loop is busy; and from the first on a `Deadline` runs, which
ends the process whatever its threads do.

SIGHUP has two meanings. To a process on a terminal it says that the terminal is gone, so it asks for the end; it never
insists, since a closing terminal sends several. To a service it says by custom that its settings changed: they are followed
without being told, so a service goes on. Who started it with SIGHUP ignored (`nohup`) wants it to go on, too.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Generator
from contextlib import contextmanager, suppress

from clew.gateway.deadline import Deadline

__all__ = ["Ending"]

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Ending:
    """Listens while it is `watched`. Whoever ends a gateway in another way calls `ask`."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.insisted = asyncio.Event()
        self._deadline: Deadline | None = None

    @contextmanager
    def watched(self, deadline: Deadline) -> Generator[None]:
        """In this block the signals are ours, and `deadline` is told of each."""
        loop = asyncio.get_running_loop()
        self._deadline = deadline

        def hear(*_: object) -> None:
            deadline.come_closer()
            with suppress(RuntimeError):  # the loop is over
                loop.call_soon_threadsafe(self._ask)

        before = {number: signal.signal(number, hear) for number in _SIGNALS}
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            loop.add_signal_handler(signal.SIGHUP, self._hang_up if _is_on_a_terminal() else _go_on)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def ask(self) -> None:
        if self._deadline is not None:
            self._deadline.come_closer()
        self._ask()

    def _ask(self) -> None:
        (self.insisted if self.asked.is_set() else self.asked).set()

    def _hang_up(self) -> None:
        if not self.asked.is_set():
            self.ask()


def _go_on() -> None:
    pass


def _is_on_a_terminal() -> bool:
    """Whether one can hang up: also where input and output lead elsewhere."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True
