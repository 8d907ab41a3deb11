"""Serves the admin on its two listeners: a unix socket that only its owner can open, and a port of this machine.

The sockets are made here, so that their rights are set before anybody can connect; `clew.admin.listening` serves each.
"""

from __future__ import annotations

import asyncio
import os
import socket
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from clew.admin.access import Access
from clew.admin.desk import Desk, Present, principals_of
from clew.admin.feed import Feed
from clew.admin.guard import Guard
from clew.admin.listening import Listening
from clew.admin.login import login_url
from clew.admin.metrics import Metrics
from clew.admin.routing import Route, Routes
from clew.admin.sessions import Sessions
from clew.admin.sharing import Sharing
from clew.admin.table import ROUTES
from clew.engine.hub import Hub
from clew.engine.works import Works
from clew.gateway.workers import WorkerReport
from clew.settings.gateway_key import KeyTable
from clew.settings.home import Home
from clew.store import Store
from clew.store.values import Exchange

__all__ = ["Admin", "serve"]

LOOPBACK: Final = "127.0.0.1"


class Admin:
    """A running admin. Close it before the loop ends."""

    def __init__(self, desk: Desk, listeners: Sequence[Listening], path: Path, following: asyncio.Task[None]) -> None:
        self._desk = desk
        self._listeners = listeners
        self._following = following
        self.socket = path
        """Where the owner connects without a token."""

    @property
    def url(self) -> str:
        return self._desk.url

    @property
    def login_url(self) -> str:
        """A new link each time. It works once, for ten minutes."""
        return login_url(self._desk)

    @property
    def token(self) -> str:
        """For `Authorization: Bearer`; valid as long as this admin runs."""
        return self._desk.access.token

    @property
    def open_streams(self) -> int:
        """Answers that are not over: of every data plane, and of the chat here."""
        return self._desk.open_streams()

    async def drain(self, seconds: float) -> None:
        """Take no new questions, let answers go on for so long, then stop those of the chat; `close` stops the others."""
        await asyncio.gather(self._desk.runs.drain(seconds), self._desk.tellings.drain(seconds))

    async def close(self) -> None:
        """End answers and streams, then listeners. The socket's file goes with it."""
        await self._desk.runs.close()
        self._desk.closing.set()
        for listener in self._listeners:
            listener.end()
        self._following.cancel()
        with suppress(asyncio.CancelledError):
            await self._following
        await asyncio.gather(*(listener.closed() for listener in self._listeners))
        self.socket.unlink(missing_ok=True)


async def serve(
    *,
    current: Present,
    store: Store | None,
    hub: Hub,
    home: Home,
    port: int,
    name: str,
    token: str,
    planes: Callable[[], Sequence[WorkerReport]],
    works: Works | None = None,
    pages: Sequence[Route] = (),
    keys: KeyTable,
) -> Admin:
    """As `clew.admin.server.serve_admin` says."""
    path = home.make().socket(f"admin-{name or os.getpid()}")
    tcp, unix = _listeners(port, path)
    metrics = Metrics()
    url = f"http://{LOOPBACK}:{tcp.getsockname()[1]}"
    desk = Desk(
        current=current,
        store=store,
        home=home,
        access=Access(token, keys=keys, sessions=Sessions(home.sessions, url)),
        feed=_feed(current, store, hub, home, metrics),
        metrics=metrics,
        planes=planes,
        works=works,
        url=url,
    )
    await desk.feed.begin()
    app = _app(desk, (*pages, *ROUTES))
    listeners = [Listening(app, each) for each in (unix, tcp)]
    following = asyncio.create_task(desk.feed.run(), name="clew admin feed")
    await asyncio.gather(*(listener.begun() for listener in listeners))
    return Admin(desk, listeners, path, following)


def _app(desk: Desk, rows: Sequence[Route]) -> Guard:
    port = desk.url.rpartition(":")[2]
    sharing = Sharing(lambda: desk.current.snapshot.settings.chat.origins)
    return Guard(Routes(rows, desk), [f"{host}:{port}" for host in (LOOPBACK, "localhost")], sharing)


def _feed(current: Present, store: Store | None, hub: Hub, home: Home, metrics: Metrics) -> Feed:
    def heard(exchange: Exchange) -> None:
        metrics.know(current.snapshot.settings.backends)
        metrics.count(exchange)

    return Feed(hub, store, lambda: principals_of(home), current, heard=heard)


def _listeners(port: int, path: Path) -> tuple[socket.socket, socket.socket]:
    """Both or neither."""
    tcp = _tcp(port)
    try:
        return tcp, _unix(path)
    except OSError:
        tcp.close()
        raise


def _tcp(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((LOOPBACK, port))
    except OSError:
        listener.close()
        raise
    return listener


def _unix(path: Path) -> socket.socket:
    """The rights are those of the file from its first moment: nobody listens yet while they are set."""
    with suppress(FileNotFoundError):
        if stat.S_ISSOCK(path.stat().st_mode):
            path.unlink()  # of a process that died
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(str(path))
        path.chmod(0o600)
    except OSError:
        listener.close()
        raise
    return listener
