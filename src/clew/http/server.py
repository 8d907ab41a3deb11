"""The listener: accepts connections, keeps their set, and ends them in good order.

`listen` starts one; `Server.close` stops accepting, closes idle connections at once, lets the running answers finish within
a grace period, and cancels the rest. Nothing here knows what is served: a `Handle` answers requests, a `Refuse` says the
few things that the protocol layer turns away by itself (bad framing, bounds).
"""

from __future__ import annotations

import asyncio

from clew.http.connection import Connection, Handle, Refuse
from clew.http.message import Limits, Refusal
from clew.http.responder import Responder

__all__ = ["Server", "listen"]

_WIND_UP_SECONDS = 1.0


def refuse_plainly(refusal: Refusal, respond: Responder) -> None:
    """One line of text."""
    respond.send(refusal.status, [("content-type", "text/plain; charset=utf-8")], f"{refusal.reason}\n".encode())


class Server:
    """A running listener. Made by `listen`."""

    def __init__(self, handle: Handle, refuse: Refuse, limits: Limits) -> None:
        self.handle = handle
        self.refuse = refuse
        self.limits = limits
        self.closing = False
        self.host = ""
        self.port = 0
        self._loop = asyncio.get_running_loop()
        self._listener: asyncio.Server | None = None
        self._connections: set[Connection] = set()
        self._emptied = asyncio.Event()
        self._ticker: asyncio.TimerHandle | None = None

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def open_connections(self) -> int:
        return len(self._connections)

    async def open(self, host: str, port: int) -> None:
        """Begin to accept. Called by `listen`."""
        self._listener = await self._loop.create_server(lambda: Connection(self), host, port, backlog=1024)
        self.host, self.port = self._listener.sockets[0].getsockname()[:2]
        self._tick()

    async def close(self, grace: float = 5.0) -> None:
        """Finish what runs within `grace` seconds; then end it."""
        self.closing = True
        if self._listener is not None:
            self._listener.close()
        for connection in list(self._connections):
            connection.retire()
        await self._settle(grace)
        tasks = [task for connection in list(self._connections) if (task := connection.kill())]
        if tasks:
            await asyncio.wait(tasks, timeout=_WIND_UP_SECONDS)
        await self._settle(_WIND_UP_SECONDS)
        if self._ticker is not None:
            self._ticker.cancel()

    # What connections call.

    def now(self) -> float:
        return self._loop.time()

    def joined(self, connection: Connection) -> None:
        self._connections.add(connection)
        self._emptied.clear()

    def left(self, connection: Connection) -> None:
        self._connections.discard(connection)
        if not self._connections:
            self._emptied.set()

    async def _settle(self, seconds: float) -> None:
        if not self._connections:
            return
        try:
            await asyncio.wait_for(self._emptied.wait(), seconds)
        except TimeoutError:
            return

    def _tick(self) -> None:
        now = self.now()
        for connection in list(self._connections):
            connection.tick(now)
        self._ticker = self._loop.call_later(self.limits.tick_seconds, self._tick)


async def listen(
    handle: Handle,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    refuse: Refuse = refuse_plainly,
    limits: Limits | None = None,
) -> Server:
    """Start to serve; port 0 takes a free one. Raises OSError where it cannot listen."""
    server = Server(handle, refuse, limits or Limits())
    await server.open(host, port)
    return server
