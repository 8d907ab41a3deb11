"""Floor: who speaks. A conversation hears one answer at a time, and whoever leaves it stops the one that comes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from clew.errors import RequestInvalid

__all__ = ["Floor", "Stop"]

Stop: TypeAlias = Callable[[], Awaitable[None]]


class Floor:
    """Taken with `begin`, given back with `end`."""

    _stop: Stop | None = None

    def begin(self, stop: Stop) -> None:
        """One answer at a time. `stop` ends it. Raises RequestInvalid while there is one."""
        if self._stop is not None:
            raise RequestInvalid("an answer is under way: wait for its end, or stop it")
        self._stop = stop

    def end(self) -> None:
        """The answer is over."""
        self._stop = None

    async def close(self) -> None:
        """An answer that is under way is stopped, and what was finished of it kept."""
        if self._stop is not None:
            await self._stop()
