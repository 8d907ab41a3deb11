"""Answers requests on the two sockets of the admin, from the first connection on (`listening`).

Each socket has a uvicorn server of its own, with its own limit of connections: clients that fill the port leave the owner's
socket alone. The servers take no signals, since ending is the gateway's business, and believe no headers about the client. A
connection is closed after a while if it is silent, or if its request does not get complete, and at once if a head is too
long. While no client is there, nothing wakes.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from clew.admin.chat.elsewhere import StopNotes
from clew.admin.guard import Guard
from clew.admin.listening import LOOPBACK
from clew.admin.routes import ROUTES
from clew.admin.routing import AdminRoute, Routes
from clew.admin.services import AdminServices

MOST_CONNECTIONS: Final = 200
CLOSE_SECONDS: Final = 2
KEEP_ALIVE_SECONDS: Final = 5
SILENT_SECONDS: Final = 10.0
MOST_HEAD: Final = 64 * 1024
"""Bytes of a head that is not complete yet: as many as clients of the gateway may send."""


class _Server(uvicorn.Server):
    """Leaves signals to the gateway, and sleeps until `end`."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._ending = asyncio.Event()

    def end(self) -> None:
        self.should_exit = True
        self._ending.set()

    async def main_loop(self) -> None:
        """Replaces a check ten times a second: none of the limits that it would check is set."""
        await self._ending.wait()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


class _BoundedProtocol(HttpToolsProtocol):
    """Waits for a complete head as long as for the next request, and holds only so much of one. An answer has all the
    time."""

    _head = 0
    """Bytes since the last that belonged to a complete head or to a body."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self.timeout_keep_alive_task = self.loop.call_later(SILENT_SECONDS, self.timeout_keep_alive_handler)

    def data_received(self, data: bytes) -> None:
        """Some bytes are no request yet: they do not end the wait."""
        waiting, self.timeout_keep_alive_task = self.timeout_keep_alive_task, None
        self._head += len(data)
        super().data_received(data)
        is_answering = bool(self.cycle and not self.cycle.response_complete)
        if not is_answering:
            self.timeout_keep_alive_task = waiting
        elif waiting is not None:
            waiting.cancel()
        if self._head > MOST_HEAD:
            if not is_answering and not self.transport.is_closing():
                self.send_400_response("The head of the request is too large.")
            self.transport.close()

    def on_headers_complete(self) -> None:
        self._head = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._head = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._head = 0
        super().on_message_complete()


class AdminListener:
    """Serves one socket. Call `wait_until_started` before its URL is given out, and `wait_until_closed` after `end`."""

    def __init__(self, app: ASGIApp, listener: socket.socket) -> None:
        config = uvicorn.Config(
            app,
            http=_BoundedProtocol,
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=CLOSE_SECONDS,
        )
        self._server = _Server(config)
        self._task = asyncio.create_task(self._server.serve(sockets=[listener]), name="clew admin")

    async def wait_until_started(self) -> None:
        """Wait until the listener takes connections. Raises OSError if it cannot."""
        while not self._server.started:
            await asyncio.wait((self._task,), timeout=0.01)
            if self._task.done():
                self._task.result()
                raise OSError("the admin could not start")

    def end(self) -> None:
        """Take no new connections, and let requests that are under way end."""
        self._server.end()

    async def wait_until_closed(self) -> None:
        await self._task


class AdminServer:
    """What answers the requests to an admin."""

    def __init__(self, services: AdminServices, pages: Sequence[AdminRoute], sockets: Sequence[socket.socket]) -> None:
        self.services = services
        own_port = sockets[0].getsockname()[1]
        routes = Routes((*pages, *ROUTES), services)
        app = Guard(
            routes,
            [f"{host}:{own_port}" for host in (LOOPBACK, "localhost")],
            origins=lambda: services.current.snapshot.settings.chat.origins,
            proxied=lambda: services.access.login.hosts if services.access.login else (),
        )
        self._listeners = [AdminListener(app, each) for each in reversed(sockets)]
        self._beside = ExitStack()
        if services.store is not None:  # answers of the chat that come here are stopped for those who ask another gateway
            self._beside.enter_context(services.current.beside(StopNotes(services.runs, services.store).look))

    async def wait_until_started(self) -> None:
        await asyncio.gather(*(listener.wait_until_started() for listener in self._listeners))

    @property
    def open_streams(self) -> int:
        return self.services.open_streams()

    async def drain(self, seconds: float) -> None:
        await asyncio.gather(self.services.runs.drain(seconds), self.services.answers.drain(seconds))

    async def close(self) -> None:
        """End answers and streams, then listeners."""
        await self.services.runs.close()
        self.services.closing.set()
        self._beside.close()
        for listener in self._listeners:
            listener.end()
        await asyncio.gather(*(listener.wait_until_closed() for listener in self._listeners))
