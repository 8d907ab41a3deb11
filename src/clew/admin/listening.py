"""Listens for the admin: a unix socket that only its owner can open, and a port of this machine.

The sockets are made here, so that their rights are set before anybody can connect. What answers is loaded with the first
connection, in a thread, while that waits: web framework, pages and chat take thirteen megabytes and a fifth of a second, and
most gateways are never looked at. What must not wait is here from the start: links for a browser, the feed, and the
metrics, which count from the first request on.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from clew.admin.access import AdminAccess, BrowserSessions
from clew.admin.feed import Feed, principals_of
from clew.admin.metrics import Metrics
from clew.admin.proxy_login import ProxyLogin
from clew.gateway.workers import WorkerReport
from clew.settings.home import Home
from clew.settings.key_table import KeyTable
from clew.settings.named_keys import NamedKeys
from clew.store import Store
from clew.store.prepared_types import prepare_types

if TYPE_CHECKING:
    from clew.admin.routing import AdminRoute
    from clew.admin.services import AdminServices, CurrentSettings
    from clew.admin.serving import AdminServer
    from clew.engine.hub import Hub
    from clew.engine.runtime import Runtime

LOOPBACK: Final = "127.0.0.1"
HEAD_SECONDS: Final = 10.0
_UNLOADED: Final = (
    b'{"error":{"what":"the admin of this gateway could not be loaded",'
    b'"why":"the installed files of clew may have changed since it started, or one is missing; its log has the reason",'
    b'"next":"restart the gateway"}}'
)

_log = logging.getLogger("clew.admin")


class Admin:
    """An admin that listens. Close it before the loop ends."""

    def __init__(
        self,
        *,
        current: CurrentSettings,
        store: Store | None,
        hub: Hub,
        home: Home,
        keys: KeyTable,
        path: Path,
        sockets: Sequence[socket.socket],
        token: str,
        planes: Callable[[], Sequence[WorkerReport]],
        has_workers: bool,
        runtime: Runtime | None,
        pages: Callable[[], Sequence[AdminRoute]],
    ) -> None:
        self.socket = path
        """Where the owner connects without a token."""
        self.url = f"http://{LOOPBACK}:{sockets[0].getsockname()[1]}"
        self._current, self._store, self._home = current, store, home
        self._planes, self._runtime, self._pages = planes, runtime, pages
        self._sockets = sockets
        self._login = ProxyLogin(lambda: current.snapshot.settings.login)
        self._metrics = Metrics(lambda: current.snapshot.settings.backends)
        counts = self._metrics.count
        self._feed = Feed(hub, store, lambda: principals_of(home), current, has_workers=has_workers, finished=counts)
        sessions = BrowserSessions(home.sessions, self.url)
        self._access = AdminAccess(token, keys=keys, sessions=sessions, login=self._login)
        self._server: AdminServer | None = None
        self._loading: asyncio.Task[AdminServer] | None = None
        self._refusing: list[asyncio.Server] = []
        self._following: asyncio.Task[None] | None = None

    @property
    def login_url(self) -> str:
        """A new link each time. It works once, for ten minutes."""
        return self._access.login_url(self.url)

    @property
    def token(self) -> str:
        """For `Authorization: Bearer`; valid as long as this admin runs."""
        return self._access.token

    @property
    def open_streams(self) -> int:
        """Answers under way: of every data plane, and of the chat here."""
        return self._server.open_streams if self._server else sum(report.running for report in self._planes())

    async def begin(self) -> None:
        """Follow what happens, and wait for somebody who connects."""
        await self._feed.begin()
        self._following = asyncio.create_task(self._follow(), name="clew admin feed")
        for each in self._sockets:
            asyncio.get_running_loop().add_reader(each, self.load)

    def load(self) -> asyncio.Task[AdminServer]:
        """Begin to answer, if that was not done yet: somebody connects."""
        if self._loading is None:
            for each in self._sockets:
                asyncio.get_running_loop().remove_reader(each)
            self._loading = asyncio.create_task(self._load(), name="clew admin load")
        return self._loading

    async def drain(self, seconds: float) -> None:
        """Take no new questions, let answers go on for so long, then stop those of the chat; `close` stops the others."""
        if self._server:
            await self._server.drain(seconds)

    async def close(self) -> None:
        """End answers and streams, then listeners, and remove the socket's file."""
        if self._loading is None:
            for each in self._sockets:
                asyncio.get_running_loop().remove_reader(each)
        else:
            with suppress(Exception):  # it is in the log
                await (await self._loading).close()
            for refusing in self._refusing:
                refusing.close()
        for each in self._sockets:
            each.close()
        if self._following is not None:
            self._following.cancel()
            with suppress(asyncio.CancelledError):
                await self._following
        self.socket.unlink(missing_ok=True)

    async def _load(self) -> AdminServer:
        try:
            pages = await asyncio.to_thread(_import_all, self._pages)
            from clew.admin.serving import AdminServer  # late: it is loaded by now

            self._server = AdminServer(self._make_services(), pages, self._sockets)
            await self._server.wait_until_started()
        except Exception:
            _log.exception("the admin could not be loaded: on its port and its socket every request gets a 503")
            self._refusing += [await _refuse_all(each) for each in self._sockets]
            raise
        return self._server

    def _make_services(self) -> AdminServices:
        from clew.admin.services import AdminServices  # late: it is loaded by now

        return AdminServices(
            current=self._current,
            store=self._store,
            home=self._home,
            access=self._access,
            feed=self._feed,
            metrics=self._metrics,
            planes=self._planes,
            runtime=self._runtime,
            url=self.url,
        )

    async def _follow(self) -> None:
        """What happens, for pages that watch, and the keys of the proxy's issuer; until cancelled."""
        with self._current.attend(self._login.wake):
            async with asyncio.TaskGroup() as together:
                together.create_task(self._feed.run())
                together.create_task(self._login.follow())


async def _refuse_all(listening: socket.socket) -> asyncio.Server:
    """Say to everybody who connects that the admin could not be loaded."""

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError, OSError):
            async with asyncio.timeout(HEAD_SECONDS):
                await reader.readuntil(b"\r\n\r\n")
                head = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nconnection: close\r\n"
                writer.write(b"%scontent-length: %d\r\n\r\n%s" % (head, len(_UNLOADED), _UNLOADED))
                await writer.drain()
        writer.close()

    start = asyncio.start_unix_server if listening.family == socket.AF_UNIX else asyncio.start_server
    return await start(refuse, sock=listening)


def _import_all(pages: Callable[[], Sequence[AdminRoute]]) -> Sequence[AdminRoute]:
    import_module("clew.admin.serving")
    rows = pages()
    prepare_types()  # pages and answers are made in threads
    return rows


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
    keys = keys or await asyncio.to_thread(_read_keys, key, home, store)
    path = home.make().socket(f"admin-{name or os.getpid()}")
    admin = Admin(
        current=current,
        store=store,
        hub=hub,
        home=home,
        keys=keys,
        path=path,
        sockets=open_sockets(port, path),
        token=token,
        planes=planes,
        has_workers=has_workers,
        runtime=runtime,
        pages=pages,
    )
    await admin.begin()
    return admin


def _read_keys(own: str, home: Home, store: Store | None) -> KeyTable:
    table = KeyTable(own, NamedKeys(home, store))
    table.look()
    return table


def open_sockets(port: int, path: Path) -> tuple[socket.socket, socket.socket]:
    """The port and the unix socket, listening: both or neither."""
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
        for each in (tcp, unix):
            each.setblocking(False)
            each.listen()
    except OSError:
        tcp.close()
        unix.close()
        raise
    return tcp, unix
