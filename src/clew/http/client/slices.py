"""A read that is too long for one turn of the event loop, taken in slice by slice.

Reading what a backend sends costs much more than receiving it. A read may have hundreds of kilobytes, and libuv makes many
of them in one turn. Between two slices everybody else on the loop has a turn.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

__all__ = ["SLICE_BYTES", "Slices"]

SLICE_BYTES: Final = 16 * 1024
"""A few hundred events at most. What a model says in one moment is far less."""


class Slices:
    """`take` gets one slice in each turn of the loop, and `done` is called behind the last."""

    __slots__ = ("_done", "_handle", "_held", "_loop", "_take", "_waiting")

    def __init__(
        self, loop: asyncio.AbstractEventLoop, take: Callable[[bytes], None], done: Callable[[], None], *, held: bool
    ) -> None:
        self._loop = loop
        self._take = take
        self._done = done
        self._held = held
        self._waiting: deque[bytes] = deque()
        self._handle: asyncio.Handle | None = None

    @property
    def are_waiting(self) -> bool:
        return bool(self._waiting)

    def add(self, data: bytes) -> None:
        self._waiting.extend(data[at : at + SLICE_BYTES] for at in range(0, len(data), SLICE_BYTES))
        self._schedule()

    def hold(self, held: bool) -> None:
        """Take in no more, until it is let go: the sink is full."""
        self._held = held
        self._schedule()

    def stop(self) -> None:
        """Nobody wants the rest."""
        self._waiting.clear()

    def _schedule(self) -> None:
        if self._handle is None and self._waiting and not self._held:
            self._handle = self._loop.call_soon(self._next)

    def _next(self) -> None:
        self._handle = None
        if self._held or not self._waiting:
            return
        self._take(self._waiting.popleft())
        if self._waiting:
            self._schedule()
        else:
            self._done()
