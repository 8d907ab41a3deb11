"""What goes on until somebody stops it: whoever leaves the `async with` does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

__all__ = ["Stoppable"]


class Stoppable(ABC):
    """`async with` it, and nothing goes on behind your back.

    >>> import asyncio
    >>> class Clock(Stoppable):
    ...     runs = True
    ...     async def stop(self):
    ...         self.runs = False
    >>> async def left():
    ...     async with Clock() as clock:
    ...         pass
    ...     return clock.runs
    >>> asyncio.run(left())
    False
    """

    @abstractmethod
    async def stop(self) -> None:
        """Go no further. What was finished is kept when this returns."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()
