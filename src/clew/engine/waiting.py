"""How a driver waits: it asks a function whether there is a value yet, each time that there may be."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeAlias

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
