"""Writes to the transport of a connection: together with other connections, in one piece, or as fast as the peer
reads.

All small writes of one round of the event loop go out at its end (`WriteBatch`). A write wakes the process that reads
it, and to wake a process on another core costs the kernel more than the write itself. Where many connections write in
one round, the process that the first write wakes finds the other writes on its way, and is not woken again. No write
waits for long: a round ends when all ready events were handled. Long writes do not wait at all.

The order on each connection stays. Code that closes a connection, or asks how much was sent, ends the batch first.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import cast

from clew.http.loops import EachLoop

_log = logging.getLogger("clew.http")
_LONG = 64 * 1024
"""Bytes that do not wait: as much as makes a transport say that it is full."""


class WriteBatch:
    """The small writes of one round of an event loop."""

    __slots__ = ("_call_soon", "_now", "time", "writes")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._call_soon = loop.call_soon
        self._now = loop.time
        self.time = 0.0
        """When the first of the waiting writes was added, on the loop's clock."""
        self.writes: list[tuple[asyncio.Transport, bytes]] = []
        """What waits. Code that adds to it calls `begin` before the first, and adds nothing that is long."""

    def write(self, transport: asyncio.Transport, data: bytes) -> None:
        """Write it when this round ends; a long write now, so that the reader of a fast source learns in time to stop."""
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
        """Schedule the end of the batch."""
        now, call_soon = self._now, self._call_soon
        self.time = now()
        call_soon(self.end)

    def end(self) -> None:
        """Write what waits, now. A connection that was given up meanwhile takes nothing."""
        writes, self.writes = self.writes, []
        for transport, data in writes:
            try:
                transport.write(data)
            except Exception:  # the code that wrote it has returned
                if not transport.is_closing():
                    _log.exception("writing to a connection failed; it is closed")
                    transport.abort()


write_batch_of = EachLoop(WriteBatch)
"""All connections of a loop share it."""


LONG = 64 * 1024 if hasattr(os, "readv") else sys.maxsize
"""Bytes that are worth a call of the kernel of our own. (Windows has no such call.)"""
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER on, zero seconds: close sends RST


class TransportWriter(asyncio.Protocol):
    """Writes to one transport, and pauses its reads. The subclass sets `_lost` when the connection is lost."""

    __slots__ = (
        *("_batch", "_corked", "_is_reading", "_loop", "_lost", "_paused", "_transport", "_waiter", "_yields"),
        "eager",
    )

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._batch = write_batch_of(loop)
        self._transport: asyncio.Transport
        self._lost = False
        self._corked: list[bytes] | None = None
        self._waiter: asyncio.Future[None] | None = None
        self.eager: asyncio.Transport | None = None
        """The transport, as long as it takes what is written as it comes."""
        self._is_reading = True
        self._paused = False
        """Too many requests wait: nothing is read."""
        self._yields = False
        """The read budget of this round is spent (`connection_limits`): nothing is read."""

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = self.eager = cast("asyncio.Transport", transport)

    def pause_writing(self) -> None:
        self._waiter = self._waiter or self._loop.create_future()
        self.eager = None

    def resume_writing(self) -> None:
        waiter, self._waiter = self._waiter, None
        self.eager = None if self._lost else self._transport
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    # What the read budget calls.

    def pause_body(self) -> None:
        self._yields = True
        self._update_reading()

    def resume_body(self) -> None:
        self._yields = False
        self._update_reading()

    def _update_reading(self) -> None:
        wanted = not (self._paused or self._yields)
        if wanted != self._is_reading and not self._lost and not self._transport.is_closing():
            self._is_reading = wanted
            (self._transport.resume_reading if wanted else self._transport.pause_reading)()

    # What the responder calls.

    def __enter__(self) -> None:
        """Keep what is written until the block ends."""
        self._corked = []

    def __exit__(self, *error: object) -> None:
        self.uncork()

    def uncork(self) -> None:
        """Write what was kept, in one piece."""
        parts, self._corked = self._corked, None
        if parts and not self._lost:
            self._batch.write(self._transport, parts[0] if len(parts) == 1 else b"".join(parts))

    def put(self, data: bytes) -> bool:
        """Write it; False if the client is behind or gone."""
        if self._lost:
            return False
        if self._corked is None:
            self._batch.write(self._transport, data)
        else:
            self._corked.append(data)  # behind what waits there
        return self._waiter is None

    def writelines(self, parts: list[bytes]) -> bool:
        """The same with pieces that are too long to be copied into one; so they cannot wait for the end of the round."""
        if self._lost:
            return False
        if self._corked is None:
            self._batch.end()
            self._transport.writelines(parts)
        else:
            self._corked += parts
        return self._waiter is None

    def push_chunk(self, data: bytes) -> bool:
        """`put` of one chunk, for a caller that uses it with every read."""
        return self.put(b"%x\r\n%b\r\n" % (len(data), data))

    async def drained(self) -> None:
        self._batch.end()  # only then it is known how much waits
        if self._waiter is not None:
            await asyncio.shield(self._waiter)
        if self._lost or self._transport.is_closing():
            raise ConnectionResetError("the client is gone")

    def reset(self) -> None:
        """Break off, so that the other side knows it was no end."""
        self._corked = None
        plug = self._plug()
        if plug is not None and not self._lost:
            plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self._transport.abort()

    def _pull(self, take: Callable[[Callable[[memoryview], int]], int]) -> int:
        """What the kernel has goes straight to where `take` wants it: how many bytes. An end or an error, the loop meets
        too."""
        plug = self._plug()
        if plug is not None and plug.fileno() >= 0:
            with suppress(OSError):
                return take(lambda free: os.readv(plug.fileno(), [free]))
        return 0

    def _plug(self) -> socket.socket | None:
        return cast("socket.socket | None", self._transport.get_extra_info("socket"))
