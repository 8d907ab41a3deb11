"""The two signals to end: the first asks, the second insists.

SIGTERM and SIGINT mean the same. After the first, streams may go on for a while; after the second nothing is waited for.
"""

from __future__ import annotations

import asyncio
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

    def ask(self) -> None:
        (self.insisted if self.asked.is_set() else self.asked).set()
