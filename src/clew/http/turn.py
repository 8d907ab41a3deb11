"""What is written in one turn of the event loop goes out at its end, together.

A write wakes whoever reads it, and to wake a process on another core costs the kernel more than the write itself. Where many
connections have something to say in one turn, the reader that the first write wakes finds the others' on its way, and is not
woken again. Nothing waits for long: a turn ends when all that was ready has been looked at. Nor does much wait: the loop may
read megabytes from one connection in a turn.

The order on each connection stays. Whoever closes one, or wants to know how much of what was written was taken, ends the
turn first.
"""

from __future__ import annotations

import asyncio
import logging

from clew.http.loops import EachLoop

__all__ = ["Turn", "turn_of"]

_log = logging.getLogger("clew.http")
_LONG = 64 * 1024
"""Bytes that do not wait: as much as makes a transport say that it is full."""


class Turn:
    """The turns of one loop, one after the other."""

    __slots__ = ("_call_soon", "_now", "time", "writes")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._call_soon = loop.call_soon
        self._now = loop.time
        self.time = 0.0
        """When the turn began of which something waits."""
        self.writes: list[tuple[asyncio.Transport, bytes]] = []
        """What waits. Whoever adds to it says so before, if it is the first (`begin`), and adds nothing that is long."""

    def write(self, transport: asyncio.Transport, data: bytes) -> None:
        """Write it when this turn ends; what is long now, so that whoever reads a fast source hears in time to stop it."""
        if not self.writes:
            self.begin()
        self.writes.append((transport, data))
        if len(data) > _LONG:
            self.end()

    def writelines(self, transport: asyncio.Transport, parts: list[bytes]) -> None:
        """Write these now, behind what waits for the same connection."""
        if any(each is transport for each, _ in self.writes):
            self.end()
        transport.writelines(parts)

    def begin(self) -> None:
        """Something will have to be written when this turn ends."""
        now, call_soon = self._now, self._call_soon
        self.time = now()
        call_soon(self.end)

    def end(self) -> None:
        """Write what waits, now. A connection that was given up meanwhile takes nothing."""
        writes, self.writes = self.writes, []
        for transport, data in writes:
            try:
                transport.write(data)
            except Exception:  # nobody who wrote is here to hear of it
                if not transport.is_closing():
                    _log.exception("a connection takes nothing more")
                    transport.abort()


turn_of = EachLoop(Turn)
"""All connections of a loop share it."""
