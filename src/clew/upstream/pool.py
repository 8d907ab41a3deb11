"""Connections to backends, kept open from request to request.

    async with pool.ask(endpoint, request) as reply:
        async for data in reply.chunks(): ...

A connection is used by one exchange at a time and shared by all who ask the same endpoint. It is kept only after an answer
that was read to its end, and looked at before it is used again: one that the backend closed meanwhile is dropped. The
backend's FIN can still cross our request on the wire. Then, and only then, the request goes out once more, on a fresh
connection: if the old one broke before any byte of an answer, and so soon that it cannot have died of this request.

Leaving the block ends the exchange: with the body read, the connection is kept; in any other way, cancellation in any phase
too, it is closed at once, so that a backend stops working for a client that is gone.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from clew.errors import BackendUnreachable
from clew.http.client import ClientConnection
from clew.http.client_message import ClientRequest, PeerClosed, ResponseHead, ResponseLimits, Timeouts
from clew.upstream.dial import dial, tls_context, within
from clew.upstream.endpoint import Endpoint
from clew.upstream.foreign import mapped
from clew.upstream.proxy import proxy_for
from clew.upstream.reply import Reply

__all__ = ["Pool", "PoolSettings"]

_STALE_SECONDS = 1.0
"""A connection that was dead before the request says so within a round trip."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSettings:
    """What the operator decides about the way out."""

    connections: int = 500
    """To one endpoint, at the same time."""
    idle_seconds: float = 30.0
    """Less than what servers grant, so that we are the one who closes."""
    timeouts: Timeouts = field(default_factory=Timeouts)
    limits: ResponseLimits = field(default_factory=ResponseLimits)
    ca_file: str | None = None
    """Authorities to trust beside the system's."""
    proxy_environ: Mapping[str, str] | None = None
    """Where to look for HTTPS_PROXY, HTTP_PROXY and NO_PROXY; None: no proxy, whatever the environment says."""


class _Shelf:
    """The connections to one endpoint: how many more there may be, and those that rest, oldest first."""

    def __init__(self, connections: int) -> None:
        self.slots = asyncio.Semaphore(connections)
        self.resting: list[tuple[float, ClientConnection]] = []

    def take(self) -> ClientConnection | None:
        """The one used last, if it still lives: so the others may grow old and go."""
        while self.resting:
            _, connection = self.resting.pop()
            if connection.fresh:
                return connection
            connection.abort()
        return None

    def sweep(self, before: float) -> None:
        """Close what has rested since before that moment, and what the backend closed."""
        kept: list[tuple[float, ClientConnection]] = []
        for since, connection in self.resting:
            if since > before and connection.reusable:
                kept.append((since, connection))
            else:
                connection.abort()
        self.resting = kept


class Pool:
    """The way to all backends. Belongs to the event loop that it is made in."""

    def __init__(self, settings: PoolSettings | None = None) -> None:
        self._settings = settings or PoolSettings()
        self._loop = asyncio.get_running_loop()
        self._shelves: dict[Endpoint, _Shelf] = {}
        self._busy: set[ClientConnection] = set()
        self._context: ssl.SSLContext | None = None
        self._sweeper: asyncio.TimerHandle | None = None
        self._closed = False

    @asynccontextmanager
    async def ask(
        self,
        endpoint: Endpoint,
        request: ClientRequest,
        *,
        timeouts: Timeouts | None = None,
        limits: ResponseLimits | None = None,
    ) -> AsyncGenerator[Reply]:
        """Send a request; the block begins when the head of the answer is here. Raises BackendError, whatever happened."""
        self._check_open(endpoint)
        asking = _Asking(
            endpoint, request, timeouts or self._settings.timeouts, limits or self._settings.limits, self._loop.time()
        )
        shelf = self._shelf(endpoint)
        with mapped(endpoint):
            async with within("slot", asking.timeouts, asking.began):
                await shelf.slots.acquire()
        try:
            with mapped(endpoint):
                connection, head = await self._answered(asking, shelf)
            try:
                yield Reply(endpoint, connection, head)
            finally:
                self._leave(shelf, connection)
        finally:
            shelf.slots.release()

    def resting(self, endpoint: Endpoint) -> int:
        """How many connections to it wait for the next request."""
        return len(self._shelf(endpoint).resting)

    def close(self) -> None:
        """Close every connection, those in use too; who uses one is told so."""
        self._closed = True
        if self._sweeper is not None:
            self._sweeper.cancel()
        for shelf in self._shelves.values():
            shelf.sweep(self._loop.time())
        for connection in list(self._busy):
            connection.abort()

    def _check_open(self, endpoint: Endpoint) -> None:
        if self._closed:
            raise BackendUnreachable(f"{endpoint}: we are shutting down")

    def _shelf(self, endpoint: Endpoint) -> _Shelf:
        shelf = self._shelves.get(endpoint)
        if shelf is None:
            shelf = self._shelves[endpoint] = _Shelf(self._settings.connections)
        return shelf

    async def _answered(self, asking: _Asking, shelf: _Shelf) -> tuple[ClientConnection, ResponseHead]:
        kept = shelf.take()
        if kept is not None:
            sent = self._loop.time()
            try:
                return kept, await self._heard(kept, asking)
            except PeerClosed as error:
                if error.began or self._loop.time() - sent > _STALE_SECONDS:
                    raise
        fresh = await self._dialled(asking)
        return fresh, await self._heard(fresh, asking)

    async def _heard(self, connection: ClientConnection, asking: _Asking) -> ResponseHead:
        self._busy.add(connection)
        try:
            self._check_open(asking.endpoint)  # a dial may outlast the pool
            connection.begin(asking.request, asking.timeouts, asking.limits, began=asking.began)
            return await connection.head()
        except BaseException:
            self._busy.discard(connection)
            connection.abort()
            raise

    async def _dialled(self, asking: _Asking) -> ClientConnection:
        environ = self._settings.proxy_environ
        proxy = None if environ is None else proxy_for(asking.endpoint, environ)
        return await dial(asking.endpoint, tls=self._tls, proxy=proxy, timeouts=asking.timeouts, began=asking.began)

    def _tls(self) -> ssl.SSLContext:
        """Made when first needed: loading the system's authorities takes a while."""
        self._context = self._context or tls_context(self._settings.ca_file)
        return self._context

    def _leave(self, shelf: _Shelf, connection: ClientConnection) -> None:
        self._busy.discard(connection)
        if not connection.reusable:
            connection.abort()
            return
        connection.rest()
        shelf.resting.append((self._loop.time(), connection))
        if self._sweeper is None:
            self._sweeper = self._loop.call_later(self._settings.idle_seconds, self._sweep)

    def _sweep(self) -> None:
        """One timer for all: it goes off no later than half an idle time after the first that is due."""
        self._sweeper = None
        for shelf in self._shelves.values():
            shelf.sweep(self._loop.time() - self._settings.idle_seconds)
        if any(shelf.resting for shelf in self._shelves.values()):
            self._sweeper = self._loop.call_later(self._settings.idle_seconds / 2, self._sweep)


@dataclass(frozen=True, slots=True)
class _Asking:
    """One call of `ask`."""

    endpoint: Endpoint
    request: ClientRequest
    timeouts: Timeouts
    limits: ResponseLimits
    began: float
