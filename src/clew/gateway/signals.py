"""The two signals to end: the first asks, the second insists.

SIGTERM and SIGINT mean the same. After the first, streams may go on for a while; after the second nothing is waited for.

SIGHUP has two meanings. To a process on a terminal it says that the terminal is gone, so it asks for the end; it never
insists, since a closing terminal sends several. To a service it says by custom that its settings changed: they are followed
without being told, so a service goes on. Who started it with SIGHUP ignored (`nohup`) wants it to go on, too.
"""

from __future__ import annotations

import asyncio
import os
import signal

__all__ = ["Ending"]

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Ending:
    """Listens from `watch` on. Whoever ends a gateway in another way calls `ask`."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.insisted = asyncio.Event()

    def watch(self) -> None:
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self.ask)
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            loop.add_signal_handler(signal.SIGHUP, self.asked.set if _is_on_a_terminal() else _go_on)

    def ask(self) -> None:
        (self.insisted if self.asked.is_set() else self.asked).set()


def _go_on() -> None:
    pass


def _is_on_a_terminal() -> bool:
    """Whether one can hang up: also where input and output lead elsewhere."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True
