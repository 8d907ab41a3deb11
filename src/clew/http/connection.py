"""One client's connection: its requests are answered in order, one at a time, by one task.

The reader turns bytes into requests; while there are any, `_serve` runs the handler on each. A client that goes away
cancels the handler at the point where it waits, unless its answer is whole: what it does then is its own. Going away is not
the same as a half-close: after the client's FIN a few probes go out (see `Responder.probe`); a closed socket answers with a
reset, a half-closed one just reads on and is served.

Time is kept from outside: `tick` is called about once a second and closes what has waited too long, so no request pays for
a timer of its own.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias, cast

from clew.http.message import HttpRequest, Limits, Refusal
from clew.http.reader import RequestReader
from clew.http.responder import Responder

if TYPE_CHECKING:
    from clew.http.server import Server

__all__ = ["Connection", "Handle", "Refuse"]

Handle: TypeAlias = Callable[[HttpRequest, Responder], Awaitable[None]]
"""Answers one request. It may be cancelled at any await, when the client is gone or the server ends."""

Refuse: TypeAlias = Callable[[Refusal, Responder], None]
"""Says a refusal in the words of the dialect that is served."""

_log = logging.getLogger("clew.http")
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER on, zero seconds: close sends RST
_PROBES = 8
_PROBE_SECONDS = 0.1
_UNREAD = HttpRequest(method="", target="", headers=(), body=b"", keep_alive=False)


class Connection(asyncio.Protocol):
    """The protocol object that the event loop calls."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._limits: Limits = server.limits
        self._reader = RequestReader(server.limits, server.known)
        self._task: asyncio.Task[None] | None = None
        self._responder: Responder | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._lost = False
        self._probes: int | None = None
        self._closing = False
        self._discarding = False
        self._paused = False
        self._since = server.now()
        self._stalled_at: tuple[int, float] | None = None
        self._transport: asyncio.Transport

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._server.joined(self)

    def data_received(self, data: bytes) -> None:
        if self._discarding:
            return
        if not (self._reader.in_head or self._reader.in_body):
            self._since = self._server.now()
        self._reader.feed(data)
        self._advance()

    def eof_received(self) -> bool:
        """Keep the connection if there is something left to say on it."""
        self._probes = _PROBES
        if self._task is None or self._discarding:
            return False
        self._probe()
        asyncio.get_running_loop().call_later(_PROBE_SECONDS, self._probe)
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        self._server.left(self)
        self.resume_writing()
        if self._task is not None and not self._wound_up:
            self._task.cancel()

    def pause_writing(self) -> None:
        self._waiter = self._waiter or asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    # What the responder calls.

    def write(self, parts: list[bytes]) -> None:
        if not self._lost:
            self._write(parts)

    def push(self, parts: list[bytes]) -> bool:
        if self._lost:
            return False
        self._write(parts)
        return self._waiter is None

    def _write(self, parts: list[bytes]) -> None:
        """One piece takes a shorter way through the loop than several."""
        if len(parts) == 1:
            self._transport.write(parts[0])
        else:
            self._transport.writelines(parts)

    async def drained(self) -> None:
        if self._waiter is not None:
            await asyncio.shield(self._waiter)
        if self._lost or self._transport.is_closing():
            raise ConnectionResetError("the client is gone")

    def close(self) -> None:
        """Close after what was written; to a client that was turned away, only our half."""
        self._closing = True
        if self._lost:
            return
        if self._discarding:
            self._transport.write_eof()
        else:
            self._transport.close()

    def reset(self) -> None:
        self._closing = True
        plug = cast("socket.socket | None", self._transport.get_extra_info("socket"))
        if plug is not None and not self._lost:
            plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self._transport.abort()

    # What the server calls.

    @property
    def busy(self) -> bool:
        """Is a request being answered, or coming in?"""
        return self._task is not None or self._reader.in_head or self._reader.in_body

    @property
    def idle(self) -> bool:
        """Does it only wait for a request that may never come?"""
        return not self.busy and not self._closing

    @property
    def since(self) -> float:
        """When it last began to wait."""
        return self._since

    def retire(self) -> None:
        """Finish what is being answered, take nothing behind it. One that is idle may ask once more, for the last time."""
        if self._task is None:
            return
        self._reader.finished = True
        self._reader.ready.clear()
        if self._responder is not None:
            self._responder.keep_alive = False

    def interrupt(self) -> asyncio.Task[None] | None:
        """Cancel what is being answered, and let it say so. Returns its task; None if there is none, and all is closed."""
        if self._task is None:
            self.close()
        elif self._responder is not None and not self._wound_up:
            self._responder.draining = True
            self._task.cancel()
        return self._task

    def kill(self) -> None:
        """End it now, whatever it does."""
        if self._task is not None:
            self._task.cancel()
        self._transport.abort()

    def tick(self, now: float) -> None:
        """Close what has waited too long."""
        self._probe()
        if self._overdue(now) or self._stalled(now):
            self._transport.abort()

    # How it goes on.

    def _advance(self) -> None:
        reader = self._reader
        if reader.ready and self._task is None and not self._closing:
            self._task = self._server.loop.create_task(self._serve())
        if reader.expects_continue and self._task is None:
            reader.expects_continue = False
            self.write([b"HTTP/1.1 100 Continue\r\n\r\n"])
        if reader.ready or self._paused:
            self._throttle()

    def _throttle(self) -> None:
        full = len(self._reader.ready) >= self._limits.pipelined
        if full != self._paused and not self._lost and not self._transport.is_closing():
            self._paused = full
            (self._transport.pause_reading if full else self._transport.resume_reading)()

    async def _serve(self) -> None:
        try:
            while self._reader.ready and not self._closing:
                await self._answer(self._reader.ready.pop(0))
                if self._paused:
                    self._throttle()
        finally:
            self._task = self._responder = None
            self._since = self._server.now()
            self._server.rested()
        if self._probes is not None:
            self.close()
        elif not self._closing:
            self._advance()

    async def _answer(self, item: HttpRequest | Refusal) -> None:
        if isinstance(item, Refusal):
            self._turn_away(item)
            return
        responder = Responder(self, item, keep_alive=item.keep_alive and not self._server.closing)
        self._responder = responder
        try:
            await self._server.handle(item, responder)
        except ConnectionError:
            responder.abort()
        except Exception:
            _log.exception("%s %s failed", item.method, item.path)
            self._server_failed(responder)
        if not responder.ended:
            _log.error("%s %s was left without an end", item.method, item.path)
            self._server_failed(responder)

    @property
    def _wound_up(self) -> bool:
        """Is the answer whole, or was its handler told to end it?"""
        return self._responder is not None and (self._responder.ended or self._responder.draining)

    def _server_failed(self, responder: Responder) -> None:
        if responder.started:
            responder.abort()
        else:
            responder.keep_alive = False
            self._server.refuse(Refusal(500, "Internal server error"), responder)

    def _probe(self) -> None:
        """Ask a client that sent its FIN whether it is still there; only the write after its reset tells us."""
        if self._probes and self._responder is not None and (probe := self._responder.probe()):
            self._probes -= 1
            self.write([probe])

    def _turn_away(self, refusal: Refusal) -> None:
        """Answer, then throw away what still comes: closing on unread bytes would reset the answer away."""
        self._closing = self._discarding = True
        self._server.refuse(refusal, Responder(self, _UNREAD, keep_alive=False))
        self._since = self._server.now()

    # How long it may take.

    def _overdue(self, now: float) -> bool:
        waited, limits, reader = now - self._since, self._limits, self._reader
        if self._discarding:
            return waited > limits.linger_seconds
        if self._task is not None:
            return False
        if reader.in_head:
            return waited > limits.head_seconds
        if reader.in_body:
            return waited > limits.head_seconds + reader.body_size / limits.body_rate
        return waited > limits.idle_seconds

    def _stalled(self, now: float) -> bool:
        """Has the client taken nothing of what waits for it, for too long?"""
        pending = self._transport.get_write_buffer_size()
        if not pending:
            self._stalled_at = None
        elif self._stalled_at is None or self._stalled_at[0] != pending:
            self._stalled_at = (pending, now)
        return self._stalled_at is not None and now - self._stalled_at[1] > self._limits.write_seconds
