"""A new connection: name to addresses, the first address that answers, the tunnel if there is a proxy, TLS.

A name often has addresses of both families, and one of them may be a black hole. So the families alternate, and each
address gets a head start of a quarter of a second before the next is tried beside it (RFC 8305); the first to connect
wins.

Whatever ends a dial early, cancellation too, leaves no socket behind.

A server that was connected before gives a TLS session to begin the next connection with. Then neither side proves again
who it is, which saves most of the handshake's work. A session is kept for its server alone; a server that refuses its
own session is not given one again.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from functools import partial
from itertools import chain, zip_longest
from types import TracebackType
from typing import TypeAlias

from clew.http.client.connection import ClientConnection
from clew.http.client.message import Phase, PhaseTimedOut
from clew.http.client.tls import TlsTransport
from clew.model.http import Timeouts
from clew.upstream.endpoint import Endpoint, Proxy, open_tunnel


class TlsSessions:
    """`ca_file` adds authorities to the system's, it does not replace them."""

    def __init__(self, ca_file: str | None = None) -> None:
        self._ca_file = ca_file
        self._context: ssl.SSLContext | None = None
        self._sessions: dict[Endpoint, ssl.SSLSession] = {}
        self._forgetful: set[Endpoint] = set()
        """Those with which every connection begins like the first."""

    def transport(self, above: ClientConnection, endpoint: Endpoint) -> TlsTransport:
        """Not connected yet. The context is made when first needed: loading the system's authorities takes a while."""
        self._context = self._context or _context(self._ca_file)
        keep = None if endpoint in self._forgetful else partial(self._sessions.__setitem__, endpoint)
        return TlsTransport(above, self._context, endpoint.host, session=self._sessions.get(endpoint), keep=keep)

    def failed(self, endpoint: Endpoint) -> None:
        """There was no handshake. If it began with what was kept, that may be why, and would be why for ever."""
        if self._sessions.pop(endpoint, None) is not None:
            self._forgetful.add(endpoint)


def _context(ca_file: str | None) -> ssl.SSLContext:
    """Verifies the chain and the name."""
    context = ssl.create_default_context()
    if ca_file is not None:
        context.load_verify_locations(ca_file)
    context.set_alpn_protocols(["http/1.1"])
    context.options |= ssl.OP_NO_RENEGOTIATION
    return context


_HEAD_START = 0.25

_Where: TypeAlias = tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes] | str
"""What `connect` takes."""

_Address: TypeAlias = tuple[int, int, int, _Where]
"""Family, kind, protocol, and where."""


async def dial(
    endpoint: Endpoint, *, tls: TlsSessions, proxy: Proxy | None, timeouts: Timeouts, began: float
) -> ClientConnection:
    """Connect. `began`: since when the total counts."""
    async with PhaseTimeout("connect", timeouts, began):
        plug = await _reach(endpoint, proxy)
    if endpoint.tls:
        async with PhaseTimeout("tls", timeouts, began):
            return await _secured(plug, tls, endpoint)
    connection = ClientConnection()
    try:  # from here on the loop owns the socket, and closes it if this fails or is cancelled
        await asyncio.get_running_loop().create_connection(lambda: connection, sock=plug)
    except BaseException:
        connection.abort()
        raise
    return connection


class PhaseTimeout:
    """Raises PhaseTimedOut if the block lasts longer than its phase may, or than is left of the total. No generator: there
    may be thousands at the same time."""

    __slots__ = ("_clock", "_phase", "_seconds")

    def __init__(self, phase: Phase, timeouts: Timeouts, began: float) -> None:
        limits = {"slot": timeouts.slot, "connect": timeouts.connect, "tls": timeouts.tls}
        self._phase: Phase = phase
        limit, total = limits[phase], timeouts.total
        left = None if total is None else began + total - asyncio.get_running_loop().time()
        self._seconds = limit or 0.0
        if left is not None and (limit is None or left < limit):
            self._phase, self._seconds, limit = "total", total or 0.0, left
        self._clock = asyncio.timeout(limit)

    async def __aenter__(self) -> None:
        await self._clock.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._clock.__aexit__(kind, error, trace)
        except TimeoutError as late:  # the kernel's own, an OSError like any other, passes by
            raise PhaseTimedOut(self._phase, self._seconds) from late


async def _reach(endpoint: Endpoint, proxy: Proxy | None) -> socket.socket:
    """A connected socket that leads to the endpoint."""
    if endpoint.socket:
        return await _connected((socket.AF_UNIX, socket.SOCK_STREAM, 0, endpoint.socket))
    if proxy is None:
        return await _connect(endpoint.host, endpoint.port)
    plug = await _connect(proxy.host, proxy.port)
    try:
        await open_tunnel(plug, proxy, endpoint)
    except BaseException:
        plug.close()
        raise
    return plug


async def _secured(plug: socket.socket, tls: TlsSessions, endpoint: Endpoint) -> ClientConnection:
    """A connection with TLS between it and the socket."""
    connection = ClientConnection()
    try:
        transport = tls.transport(connection, endpoint)
    except BaseException:
        plug.close()
        raise
    try:
        await asyncio.get_running_loop().create_connection(lambda: transport, sock=plug)
        await transport.handshake()
    except BaseException as error:
        transport.abort()
        if isinstance(error, ssl.SSLError):
            tls.failed(endpoint)
        raise
    return connection


async def _connect(host: str, port: int) -> socket.socket:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return await _race(alternate_families([(family, kind, protocol, where) for family, kind, protocol, _, where in found]))


def alternate_families(addresses: list[_Address]) -> list[_Address]:
    """The families of addresses by turns, the resolver's first choice first."""
    first = [address for address in addresses if address[0] == addresses[0][0]]
    other = [address for address in addresses if address[0] != addresses[0][0]]
    return [address for address in chain(*zip_longest(first, other)) if address is not None]


async def _race(addresses: list[_Address]) -> socket.socket:
    """The first that connects. Raises what the first of them raised if none does."""
    if len(addresses) == 1:
        return await _connected(addresses[0])
    waiting = list(addresses)
    running: list[asyncio.Task[socket.socket]] = []
    errors: list[BaseException] = []
    try:
        while waiting or running:
            if waiting:
                running.append(asyncio.create_task(_connected(waiting.pop(0))))
            await asyncio.wait(running, timeout=_HEAD_START if waiting else None, return_when=asyncio.FIRST_COMPLETED)
            for task in [task for task in running if task.done()]:
                running.remove(task)
                error = task.exception()
                if error is None:
                    return task.result()
                errors.append(error)
    finally:
        for task in running:
            task.add_done_callback(_discard)
            task.cancel()
    raise errors[0]


def _discard(task: asyncio.Task[socket.socket]) -> None:
    """A runner-up: it may have arrived in the very moment in which it was called off."""
    if not task.cancelled() and task.exception() is None:
        task.result().close()


async def _connected(address: _Address) -> socket.socket:
    family, kind, protocol, where = address
    plug = socket.socket(family, kind, protocol)
    try:
        plug.setblocking(False)
        if family != socket.AF_UNIX:
            plug.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.get_running_loop().sock_connect(plug, where)
    except BaseException:
        plug.close()
        raise
    return plug
