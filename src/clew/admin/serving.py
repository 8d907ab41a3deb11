"""Serves the admin on its two listeners: a unix socket that only its owner can open, and a port of this machine.

The sockets are made here, so that their rights are set before anybody can connect. Each has a uvicorn server of its own,
with its own limit of connections: clients that fill the port leave the owner's socket alone. The servers take no signals,
since ending is the gateway's business, and believe no headers about the client. A connection is closed after a while if it
is silent, or if its request does not get complete, and at once if a head is too long. While no client is there, nothing
wakes.

`clew.admin.load_admin` imports this module without delaying anything else.
"""

from __future__ import annotations

import asyncio
import os
import socket
import stat
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from clew.admin.access import AdminAccess, BrowserSessions
from clew.admin.chat.elsewhere import StopNotes
from clew.admin.feed import Feed
from clew.admin.guard import Guard
from clew.admin.metrics import Metrics
from clew.admin.proxy_login import ProxyLogin
from clew.admin.routes import ROUTES
from clew.admin.routing import AdminRoute, Routes, login_url
from clew.admin.services import AdminServices, CurrentSettings, principals_of
from clew.engine.hub import Hub
from clew.engine.runtime import Runtime
from clew.gateway.workers import WorkerReport
from clew.settings.home import Home
from clew.settings.key_table import KeyTable
from clew.settings.named_keys import NamedKeys
from clew.store import Store

LOOPBACK: Final = "127.0.0.1"
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
    """Serves one socket, from now on. Wait until it has `begun`; `end` it and wait until it is `closed`."""

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

    async def begun(self) -> None:
        """Raises OSError if it cannot."""
        while not self._server.started:
            await asyncio.wait((self._task,), timeout=0.01)
            if self._task.done():
                self._task.result()
                raise OSError("the admin could not start")

    def end(self) -> None:
        """Take no new connections, and let requests that are under way end."""
        self._server.end()

    async def closed(self) -> None:
        await self._task


class Admin:
    """A running admin. Close it before the loop ends."""

    def __init__(
        self, services: AdminServices, listeners: Sequence[AdminListener], path: Path, following: asyncio.Task[None]
    ) -> None:
        self._services = services
        self._listeners = listeners
        self._following = following
        self.socket = path
        """Where the owner connects without a token."""

    @property
    def url(self) -> str:
        return self._services.url

    @property
    def login_url(self) -> str:
        """A new link each time. It works once, for ten minutes."""
        return login_url(self._services)

    @property
    def token(self) -> str:
        """For `Authorization: Bearer`; valid as long as this admin runs."""
        return self._services.access.token

    @property
    def open_streams(self) -> int:
        """Answers under way: of every data plane, and of the chat here."""
        return self._services.open_streams()

    async def drain(self, seconds: float) -> None:
        """Take no new questions, let answers go on for so long, then stop those of the chat; `close` stops the others."""
        await asyncio.gather(self._services.runs.drain(seconds), self._services.answers.drain(seconds))

    async def close(self) -> None:
        """End answers and streams, then listeners, and remove the socket's file."""
        await self._services.runs.close()
        self._services.closing.set()
        for listener in self._listeners:
            listener.end()
        self._following.cancel()
        with suppress(asyncio.CancelledError):
            await self._following
        await asyncio.gather(*(listener.closed() for listener in self._listeners))
        self.socket.unlink(missing_ok=True)


async def serve_admin(
    *,
    current: CurrentSettings,
    store: Store | None,
    hub: Hub,
    home: Home,
    port: int,
    name: str = "",
    token: str = "",
    planes: Callable[[], Sequence[WorkerReport]] = tuple,
    has_workers: bool = False,
    runtime: Runtime | None = None,
    pages: Callable[[], Sequence[AdminRoute]] = lambda: (),
    key: str = "",
    keys: KeyTable | None = None,
) -> Admin:
    """Serve from now on. `port` 0 is a free one; `name` is the gateway's, for its socket; `token` is made if none is given;
    `planes` gives the reports of the data planes, other processes if it `has_workers`; without `runtime` there is no
    chat; `pages` gives the routes beside the API, and may take its time; `key` is the gateway's own, which opens the chat as
    named keys do; `keys` is the table of both, where the caller has one.

    Raises OSError for a port that is taken.
    """
    rows = await asyncio.to_thread(pages)
    keys = keys or await asyncio.to_thread(_read_keys, key, home, store)
    path = home.make().socket(f"admin-{name or os.getpid()}")
    sockets = bind_sockets(port, path)
    own_port = sockets[0].getsockname()[1]
    url = f"http://{LOOPBACK}:{own_port}"
    login = ProxyLogin(lambda: current.snapshot.settings.login)
    metrics = Metrics(lambda: current.snapshot.settings.backends)
    services = AdminServices(
        current=current,
        store=store,
        home=home,
        access=AdminAccess(token, keys=keys, sessions=BrowserSessions(home.sessions, url), login=login),
        feed=Feed(hub, store, lambda: principals_of(home), current, has_workers=has_workers, finished=metrics.count),
        metrics=metrics,
        planes=planes,
        runtime=runtime,
        url=url,
    )
    await services.feed.begin()
    app = _guarded(Routes((*rows, *ROUTES), services), own_port, current, login)
    listeners = [AdminListener(app, each) for each in reversed(sockets)]
    following = asyncio.create_task(_follow(services, login), name="clew admin feed")
    await asyncio.gather(*(listener.begun() for listener in listeners))
    return Admin(services, listeners, path, following)


def _guarded(routes: Routes, port: int, current: CurrentSettings, login: ProxyLogin) -> Guard:
    return Guard(
        routes,
        [f"{host}:{port}" for host in (LOOPBACK, "localhost")],
        origins=lambda: current.snapshot.settings.chat.origins,
        proxied=lambda: login.hosts,
    )


async def _follow(services: AdminServices, login: ProxyLogin) -> None:
    """What happens, for pages that watch, and the keys of the proxy's issuer; until cancelled."""
    with services.current.attend(login.wake), _stopping_for_others(services):
        async with asyncio.TaskGroup() as together:
            together.create_task(services.feed.run())
            together.create_task(login.follow())


@contextmanager
def _stopping_for_others(services: AdminServices) -> Generator[None]:
    """In this block, answers of the chat that come here are stopped for those who ask another gateway."""
    if services.store is None:
        yield
        return
    with services.current.beside(StopNotes(services.runs, services.store).look):
        yield


def _read_keys(own: str, home: Home, store: Store | None) -> KeyTable:
    table = KeyTable(own, NamedKeys(home, store))
    table.look()
    return table


def bind_sockets(port: int, path: Path) -> tuple[socket.socket, socket.socket]:
    """The port and the unix socket: both or neither."""
    tcp = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    unix = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        tcp.bind((LOOPBACK, port))
        with suppress(FileNotFoundError):
            if stat.S_ISSOCK(path.stat().st_mode):
                path.unlink()  # of a process that died
        unix.bind(str(path))
        path.chmod(0o600)  # before it listens, so nobody can connect with other rights
    except OSError:
        tcp.close()
        unix.close()
        raise
    return tcp, unix
