"""A connection's transport: how it is written to, with the others of a turn, in one piece, or as fast as the other side
takes it; and what is done with its socket directly."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import cast

from clew.http.turn import turn_of

__all__ = ["LONG", "Outlet"]

LONG = 64 * 1024 if hasattr(os, "readv") else sys.maxsize
"""Bytes that are worth a call of the kernel of our own. (Windows has no such call.)"""
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER on, zero seconds: close sends RST


class Outlet(asyncio.Protocol):
    """What is written to one transport. Whoever loses the connection sets `_lost`."""

    __slots__ = ("_corked", "_loop", "_lost", "_transport", "_turn", "_waiter", "eager")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._turn = turn_of(loop)
        self._transport: asyncio.Transport
        self._lost = False
        self._corked: list[bytes] | None = None
        self._waiter: asyncio.Future[None] | None = None
        self.eager: asyncio.Transport | None = None
        """The transport, as long as it takes what is written as it comes."""

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

    # What the responder calls.

    def cork(self) -> None:
        """Keep what is written until `uncork`."""
        self._corked = []

    def uncork(self) -> None:
        """Write what was kept, in one piece."""
        parts, self._corked = self._corked, None
        if parts and not self._lost:
            self._turn.write(self._transport, b"".join(parts))

    def write(self, parts: list[bytes]) -> None:
        if not self._lost:
            self._write(parts)

    def put(self, data: bytes) -> None:
        """The same with one piece."""
        if self._corked is not None:
            self._corked.append(data)
        elif not self._lost:
            self._turn.write(self._transport, data)

    def push(self, parts: list[bytes]) -> bool:
        if self._lost:
            return False
        self._write(parts)
        return self._waiter is None

    def push_chunk(self, data: bytes) -> bool:
        """`push` of one chunk, for whoever calls it with every read."""
        return self.push_framed(b"%x\r\n%b\r\n" % (len(data), data))

    def push_framed(self, data: bytes) -> bool:
        """The same with its framing."""
        if self._lost:
            return False
        if self._corked is None:
            self._turn.write(self._transport, data)
        else:
            self._corked.append(data)  # behind what waits there
        return self._waiter is None

    def _write(self, parts: list[bytes]) -> None:
        """Several pieces are not copied into one, so they cannot wait for the others of this turn."""
        if self._corked is not None:
            self._corked += parts
        elif len(parts) == 1:
            self._turn.write(self._transport, parts[0])
        else:
            self._turn.end()
            self._transport.writelines(parts)

    async def drained(self) -> None:
        self._turn.end()  # only then it is known how much waits
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
