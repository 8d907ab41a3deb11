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

from clew.errors import BackendError, BackendUnreachable
from clew.http.client.connection import ClientConnection
from clew.http.client.message import ClientRequest, PeerClosed, ResponseLimits
from clew.model.http import ResponseHead, Timeouts
from clew.upstream.connections import EndpointConnections
from clew.upstream.dial import PhaseTimeout, TlsSessions, dial
from clew.upstream.endpoint import Endpoint, proxy_for
from clew.upstream.failures import FOREIGN_ERRORS, backend_error_of
from clew.upstream.reply import BackendReply

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
    """Which version of that file: another one is read anew."""
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
        self._sweeper: asyncio.TimerHandle | None = None
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
        settings = self._settings
        return PooledCall(self, endpoint, request, timeouts or settings.timeouts, limits or settings.limits)

    def resting(self, endpoint: Endpoint) -> int:
        """How many connections to it wait for the next request."""
        return len(self.connections(endpoint).resting)

    def close(self) -> None:
        """Close every connection, those in use too; who uses one is told so."""
        self.is_closed = True
        if self._sweeper is not None:
            self._sweeper.cancel()
        for connections in self._endpoints.values():
            connections.sweep(self.now())
            for connection in list(connections.open):
                connection.abort()

    def _check_open(self, endpoint: Endpoint) -> None:
        if self.is_closed:
            raise BackendUnreachable(f"{endpoint}: we are shutting down")

    def connections(self, endpoint: Endpoint) -> EndpointConnections:
        connections = self._endpoints.get(endpoint)
        if connections is None:
            connections = self._endpoints[endpoint] = EndpointConnections(self._settings.connections)
        return connections

    async def answered(self, call: PooledCall, connections: EndpointConnections) -> tuple[ClientConnection, ResponseHead]:
        """A connection that has the head of the answer: a kept one, or a fresh one."""
        kept = call.begun or self.begin(call, connections, self.now())
        if kept is not None:
            try:
                return kept, await _heard(kept, connections)
            except PeerClosed as error:
                if error.began or call.is_fresh or self.now() - call.sent > _STALE_SECONDS:
                    raise
        fresh = await self.dialled(call)
        return fresh, await _heard(fresh, connections)

    async def dialled(self, call: PooledCall) -> ClientConnection:
        """A fresh connection with the request on its way."""
        self._check_open(call.endpoint)
        tls = self._tls
        fresh = await self._dial(call)
        self._send(fresh, call)
        if tls is not self._tls:  # renewed meanwhile
            call.connections.leaving.add(fresh)
        return fresh

    def begin(self, call: PooledCall, connections: EndpointConnections, now: float) -> ClientConnection | None:
        """Send the request on a kept connection, if there is one."""
        call.sent = now
        kept = connections.take(now)
        if kept is not None:
            self._send(kept, call)
        return kept

    def _send(self, connection: ClientConnection, call: PooledCall) -> None:
        try:
            self._check_open(call.endpoint)  # a dial may outlast the pool
        except BackendUnreachable:
            connection.abort()
            raise
        call.connections.open.add(connection)
        if self._sweeper is None:
            self._sweeper = self._loop.call_later(self._settings.idle_seconds, self._sweep)
        connection.begin(call.request, call.timeouts, call.limits, began=call.began)

    def _dial(self, call: PooledCall) -> Coroutine[None, None, ClientConnection]:
        environ = self._settings.proxy_environ
        proxy = None if environ is None else proxy_for(call.endpoint, environ)
        return dial(call.endpoint, tls=self._tls, proxy=proxy, timeouts=call.timeouts, began=call.began)

    def _sweep(self) -> None:
        """One timer for all: it goes off no later than half an idle time after the first that is due."""
        self._sweeper = None
        for connections in self._endpoints.values():
            connections.sweep(self.now() - self._settings.idle_seconds)
        if any(connections.open for connections in self._endpoints.values()):
            self._sweeper = self._loop.call_later(self._settings.idle_seconds / 2, self._sweep)


class PooledCall:
    """One call of `ask`: `async with` sends the request, gives the reply, and ends the exchange.

    Written out instead of a generator, because every request passes here: nothing is set up that is not needed, no timer
    for a slot that is free. Whoever cannot wait for the answer tries `begin`, or waits for no more than a connection
    (`open`); what was begun so, `async with` goes on with, or `end` ends.
    """

    __slots__ = (
        *(
            "_failed",
            "_pool",
            "began",
            "begun",
            "endpoint",
            "is_fresh",
            "limits",
            "request",
            "sent",
            "connections",
            "timeouts",
        ),
    )

    def __init__(
        self, pool: Pool, endpoint: Endpoint, request: ClientRequest, timeouts: Timeouts, limits: ResponseLimits
    ) -> None:
        self.endpoint = endpoint
        self.request = request
        self.timeouts = timeouts
        self.limits = limits
        self.began = self.sent = pool.now()
        self.begun: ClientConnection | None = None
        """The connection that it went out on."""
        self.is_fresh = False
        """That connection is its own: what breaks it is no remainder of another exchange."""
        self._failed: BackendError | None = None
        self._pool = pool
        self.connections = pool.connections(endpoint)

    def begin(self) -> ClientConnection | None:
        """Send it at once, if there is a connection to send it on; if not, nothing has happened."""
        connections = self.connections
        if self._pool.is_closed or not connections.resting or not connections.slots.take_at_once():
            return None
        self.begun = self._pool.begin(self, connections, self.began)
        if self.begun is None:
            connections.slots.give_back()
        return self.begun

    async def open(self) -> ClientConnection:
        """Send it on a connection of its own. Raises BackendError, and so does the block then."""
        try:
            if not self.connections.slots.take_at_once():
                await self._slot()
            try:
                self.begun = await self._pool.dialled(self)
            except BaseException:
                self.connections.slots.give_back()
                raise
        except FOREIGN_ERRORS as error:
            self._failed = backend_error_of(error, self.endpoint)
            raise self._failed from error
        except BackendError as error:
            self._failed = error
            raise
        self.is_fresh = True
        return self.begun

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
            if self.begun is None and not self.connections.slots.take_at_once():
                await self._slot()
            try:
                self.begun, head = await self._pool.answered(self, self.connections)
            except BaseException:
                self.connections.slots.give_back()
                raise
        except FOREIGN_ERRORS as error:
            raise backend_error_of(error, self.endpoint) from error
        return BackendReply(self.endpoint, self.begun, head)

    async def __aexit__(self, *error: object) -> None:
        self.end()

    async def _slot(self) -> None:
        async with PhaseTimeout("slot", self.timeouts, self.began):
            await self.connections.slots.take()


async def _heard(connection: ClientConnection, connections: EndpointConnections) -> ResponseHead:
    try:
        return await connection.head()
    except BaseException:
        connections.drop(connection)
        raise
