"""Bounds how much an event loop reads of long bodies before it looks at everything else again.

A fast client fills the kernel's buffers as soon as they are empty. An event loop that reads whatever is there reads
megabytes from one connection, then from the next; and uvloop accepts one new connection for each round of reads. With sixty
uploads of 32 MB at a time a round took 0.3 s, and a new client waited eight seconds to be accepted. So the reads of all
connections in one round share a budget. A connection that exceeds it pauses, and goes on in a later round, in the order in
which they paused.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final, Protocol

from clew.http.loops import EachLoop

__all__ = ["ROUND_BYTES", "BodyConnection", "ReadBudget", "read_budget_of"]

ROUND_BYTES: Final = 2 * 1024 * 1024
"""Read by all connections together in one round of the event loop: a few milliseconds."""
_RESUMED: Final = 2
"""Connections that go on in one round. Each of them reads once at least, whatever is left of the budget."""


class BodyConnection(Protocol):
    """A connection that reads long bodies."""

    def pause_body(self) -> None: ...
    def resume_body(self) -> None: ...


class ReadBudget:
    """The budget of one event loop."""

    __slots__ = ("_is_running", "_left", "_loop", "_paused")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._left = ROUND_BYTES
        self._paused: deque[BodyConnection] = deque()
        self._is_running = False
        """Whether the next round is scheduled."""

    def spend(self, connection: BodyConnection, size: int) -> None:
        """A connection has read so many bytes. It pauses if that was more than was left for this round."""
        self._left -= size
        if self._left < 0:
            connection.pause_body()
            self._paused.append(connection)
        if not self._is_running:
            self._is_running = True
            self._loop.call_soon(self._begin_round)

    def _begin_round(self) -> None:
        self._left = ROUND_BYTES
        for _ in range(min(_RESUMED, len(self._paused))):
            self._paused.popleft().resume_body()
        self._is_running = bool(self._paused)
        if self._is_running:
            self._loop.call_soon(self._begin_round)


read_budget_of = EachLoop(ReadBudget)
"""All connections of a loop share it."""
