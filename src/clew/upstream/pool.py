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
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field, replace

from msgspec import Struct

from clew.errors import BackendError, BackendUnreachable
from clew.http.client.connection import ClientConnection
from clew.http.client.message import ClientRequest, PeerClosed, ResponseLimits
from clew.model.http import Timeouts
from clew.upstream.connections import EndpointConnections
from clew.upstream.dial import PhaseTimeout, TlsSessions, dial
from clew.upstream.endpoint import Endpoint, proxy_for
from clew.upstream.reply import FOREIGN_ERRORS, BackendReply, backend_error_of

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
    ca_stamp: tuple[int, ...] | None = None
    """Which version of that file: another one is read again."""
    proxy_environ: Mapping[str, str] | None = None
    """Where to look for HTTPS_PROXY, HTTP_PROXY and NO_PROXY; None: no proxy, whatever the environment says."""


class Pool:
    """The way to all backends. Belongs to the event loop that it is made in."""

    def __init__(self, settings: PoolSettings | None = None) -> None:
        self._settings = settings or PoolSettings()
        self._loop = asyncio.get_running_loop()
        self.now = self._loop.time
        self._endpoints: dict[Endpoint, EndpointConnections] = {}
        self._tls = TlsSessions(self._settings.ca_file)
        self.sweeper: asyncio.TimerHandle | None = None
        self.is_closed = False

    def renew(self, settings: PoolSettings) -> None:
        """Go out as these settings say: whom to trust and through which proxy holds for every connection from now on. What
        is under way ends where it began. (How many there may be, and for how long, stays as it was.)"""
        old = self._settings
        new = replace(old, ca_file=settings.ca_file, ca_stamp=settings.ca_stamp, proxy_environ=settings.proxy_environ)
        if new == old:
            return
        self._settings = new
        self._tls = TlsSessions(settings.ca_file)
        for connections in self._endpoints.values():
            connections.sweep(self.now())
            connections.leaving |= connections.open

    def ask(
        self,
        endpoint: Endpoint,
        request: ClientRequest,
        *,
        timeouts: Timeouts | None = None,
        limits: ResponseLimits | None = None,
    ) -> PooledCall:
        """Send a request; the block begins when the head of the answer is here. Raises BackendError, whatever happened."""
        settings, now = self._settings, self.now()
        return PooledCall(
            self,
            self.connections(endpoint),
            endpoint,
            request,
            timeouts or settings.timeouts,
            limits or settings.limits,
            now,
            now,
        )

    def resting(self, endpoint: Endpoint) -> int:
        """How many connections to it wait for the next request."""
        return len(self.connections(endpoint).resting)

    def close(self) -> None:
        """Close every connection, those in use too; who uses one is told so."""
        self.is_closed = True
        if self.sweeper is not None:
            self.sweeper.cancel()
        for connections in self._endpoints.values():
            connections.sweep(self.now())
            for connection in list(connections.open):
                connection.abort()

    def connections(self, endpoint: Endpoint) -> EndpointConnections:
        connections = self._endpoints.get(endpoint)
        if connections is None:
            connections = self._endpoints[endpoint] = EndpointConnections(self._settings.connections)
        return connections

    async def dialled(self, call: PooledCall) -> ClientConnection:
        """A fresh connection for a call. It may be dialled for so long that the pool is closed or renewed meanwhile."""
        tls = self._tls
        fresh = await self._dial(call)
        if self.is_closed:
            fresh.abort()
            raise _shutting_down(call.endpoint)
        if tls is not self._tls:
            call.connections.leaving.add(fresh)
        return fresh

    def _dial(self, call: PooledCall) -> Coroutine[None, None, ClientConnection]:
        if self.is_closed:
            raise _shutting_down(call.endpoint)
        environ = self._settings.proxy_environ
        proxy = None if environ is None else proxy_for(call.endpoint, environ)
        return dial(call.endpoint, tls=self._tls, proxy=proxy, timeouts=call.timeouts, began=call.began)

    def keep_sweeping(self) -> None:
        """There are connections that may have to be closed one day."""
        self.sweeper = self._loop.call_later(self._settings.idle_seconds, self._sweep)

    def _sweep(self) -> None:
        """One timer for all: it goes off no later than half an idle time after the first that is due."""
        self.sweeper = None
        for connections in self._endpoints.values():
            connections.sweep(self.now() - self._settings.idle_seconds)
        if any(connections.open for connections in self._endpoints.values()):
            self.sweeper = self._loop.call_later(self._settings.idle_seconds / 2, self._sweep)


def _shutting_down(endpoint: Endpoint) -> BackendUnreachable:
    return BackendUnreachable(f"{endpoint}: this gateway is shutting down")


class PooledCall(Struct, eq=False):
    """One call of `ask`: `async with` sends the request, gives the reply, and ends the exchange.

    A caller that cannot wait for the answer tries `begin`, or waits for no more than a connection (`open`). What was begun
    so, `async with` goes on with, or `end` ends. (Every request passes here: a struct is made without a step of Python, and
    no timer is set for a slot that is free.)
    """

    _pool: Pool
    connections: EndpointConnections
    endpoint: Endpoint
    request: ClientRequest | None
    """None once it is not sent again: a stream may last for long."""
    timeouts: Timeouts
    limits: ResponseLimits
    began: float
    sent: float
    begun: ClientConnection | None = None
    """The connection that it went out on."""
    is_fresh: bool = False
    """That connection is its own: what breaks it is no remainder of another exchange."""
    _failed: BackendError | None = None

    def begin(self) -> ClientConnection | None:
        """Send it at once, if there is a connection to send it on; if not, nothing has happened."""
        connections = self.connections
        if self._pool.is_closed or not connections.resting or not connections.slots.free:
            return None
        kept = connections.take(self.began)
        if kept is not None:
            connections.slots.free -= 1
            self._send(kept)
        return kept

    async def open(self) -> ClientConnection:
        """Send it on a connection of its own. Raises BackendError, and so does the block then."""
        try:
            await self._take_slot()
            try:
                fresh = await self._pool.dialled(self)
            except BaseException:
                self.connections.slots.give_back()
                raise
        except FOREIGN_ERRORS as error:
            self._failed = backend_error_of(error, self.endpoint)
            raise self._failed from error
        except BackendError as error:
            self._failed = error
            raise
        self._send(fresh)
        self.is_fresh = True
        return fresh

    def is_stale(self, error: Exception) -> bool:
        """Whether what went wrong on a kept connection is that the backend had closed it before this request came."""
        is_early = isinstance(error, PeerClosed) and not error.began
        return is_early and not self.is_fresh and self._pool.now() - self.sent <= _STALE_SECONDS

    async def open_again(self) -> ClientConnection:
        """Send it once more, on a connection of its own: the kept one was stale. Raises BackendError."""
        assert self.begun is not None
        self.connections.drop(self.begun)
        self.connections.slots.give_back()
        self.begun = None
        return await self.open()

    def end(self) -> None:
        """Keep the connection if the answer was read to its end, else close it."""
        assert self.begun is not None
        self.connections.give_back(self.begun, self._pool.now())

    async def __aenter__(self) -> BackendReply:
        if self._failed is not None:
            raise self._failed
        try:
            if self.begun is None:
                await self._take_slot()
            try:
                return await self._answered()
            except BaseException:
                self.connections.slots.give_back()
                raise
        except FOREIGN_ERRORS as error:
            raise backend_error_of(error, self.endpoint) from error

    async def __aexit__(self, *error: object) -> None:
        self.end()

    async def _take_slot(self) -> None:
        if not self.connections.slots.take_at_once():
            async with PhaseTimeout("slot", self.timeouts, self.began):
                await self.connections.slots.take()

    def _send(self, connection: ClientConnection) -> None:
        assert self.request is not None, "nothing is sent after the head of the answer"
        self.begun = connection
        self.connections.open.add(connection)
        if self._pool.sweeper is None:
            self._pool.keep_sweeping()
        connection.begin(self.request, self.timeouts, self.limits, began=self.began)

    async def _answered(self) -> BackendReply:
        """The reply on the connection that was begun on, on a kept one, or on a fresh one."""
        if self.begun is None and not self._pool.is_closed:
            self.sent = self._pool.now()
            if kept := self.connections.take(self.sent):
                self._send(kept)
        try:
            if self.begun is not None:
                return await self._reply(self.begun)
        except PeerClosed as error:
            if not self.is_stale(error):
                raise
        fresh = await self._pool.dialled(self)
        self._send(fresh)
        return await self._reply(fresh)

    async def _reply(self, connection: ClientConnection) -> BackendReply:
        try:
            return BackendReply(self.endpoint, connection, await connection.head())
        except BaseException:
            self.connections.drop(connection)
            raise
