"""The listener: accepts connections, keeps their set, and ends them in good order.

`listen` starts one. `Server.close` stops accepting at once, so that a successor can take the port; lets the running
answers finish within a grace period; then tells those that are left (`Responder.draining`), which gives their handlers
a moment for a last word; and ends the rest. A connection that is idle when it begins may ask once more, and is closed
after the answer: no request fails because it was on its way. Nothing here knows what is served: a `Handle` answers
requests, a `Refuse` says the few things that the protocol layer turns away by itself (bad framing, bounds).

A unix socket is opened for its owner only. The mode is set between bind and listen: nobody can connect to a socket that
does not listen yet. A socket file that a dead process left behind is replaced; one that a process answers on is not.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from clew.http.connection import Connection, Handle, Refuse
from clew.http.message import HttpRefusal, ServerLimits
from clew.http.reader import Check
from clew.http.responder import Responder

_OWNER_ONLY = 0o600


class LocalSocket:
    """A listening place at `path`."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._file: tuple[int, int] | None = None

    def bind(self) -> socket.socket:
        """The socket, not yet listening. Raises OSError if somebody is there, or where it cannot be."""
        if _is_answered(self.path):
            raise OSError(errno.EADDRINUSE, f"another process listens on {self.path}")
        with suppress(FileNotFoundError):
            if stat.S_ISSOCK(os.lstat(self.path).st_mode):
                os.unlink(self.path)
        plug = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            plug.bind(self.path)
            os.chmod(self.path, _OWNER_ONLY)
        except OSError:
            plug.close()
            raise
        self._file = _identity(self.path)
        return plug

    def remove(self) -> None:
        """Take the file away, if it is still ours."""
        if self._file is not None and _identity(self.path) == self._file:
            Path(self.path).unlink(missing_ok=True)
        self._file = None


def _is_answered(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(path)
        except OSError:
            return False
        return True


def _identity(path: str) -> tuple[int, int] | None:
    with suppress(OSError):
        found = os.lstat(path)
        return found.st_dev, found.st_ino
    return None


_WIND_UP_SECONDS = 0.4
_BACKLOG = 1024
_UNSENT = 256 * 1024
"""Bytes that the system may hold for a client that does not take them; without a bound it is megabytes for each."""

_OVER_BUDGET = HttpRefusal(
    503, "Overloaded: the requests that are being read are too large together. Try again in a moment."
)


def refuse_plainly(refusal: HttpRefusal, respond: Responder) -> None:
    """One line of text."""
    respond.send(refusal.status, [("content-type", "text/plain; charset=utf-8")], f"{refusal.reason}\n".encode())


class Server:
    """A running listener. Made by `listen`."""

    def __init__(self, handle: Handle, refuse: Refuse, limits: ServerLimits, check: Check | None = None) -> None:
        self.handle = handle
        self.refuse = refuse
        self.check = check
        self.limits = limits
        self.closing = False
        self.host = ""
        self.port = 0
        self.loop = asyncio.get_running_loop()
        self.now = self.loop.time
        self._listener: asyncio.Server | None = None
        self._local: LocalSocket | None = None
        self._connections: set[Connection] = set()
        self._held = 0
        """Bytes of long bodies,"""
        self._receiving: dict[Connection, None] = {}
        """and whose are still coming, the oldest first."""
        self._working: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._ticker: asyncio.TimerHandle | None = None

    @property
    def url(self) -> str:
        if self._local is not None:
            return f"unix:{self._local.path}"
        return f"http://[{self.host}]:{self.port}" if ":" in self.host else f"http://{self.host}:{self.port}"

    @property
    def open_connections(self) -> int:
        return len(self._connections)

    @property
    def held_bytes(self) -> int:
        """By all long bodies that are coming, waiting or being answered."""
        return self._held

    async def open(self, plug: socket.socket, local: LocalSocket | None = None) -> None:
        """Begin to accept on a bound socket. Called by `listen`."""
        self._local = local
        if local is None:
            self._listener = await self.loop.create_server(lambda: Connection(self), sock=plug, backlog=_BACKLOG)
            self.host, self.port = plug.getsockname()[:2]
        else:
            self._listener = await self.loop.create_unix_server(lambda: Connection(self), sock=plug, backlog=_BACKLOG)

    async def close(self, grace: float = 5.0, wind_up: float = _WIND_UP_SECONDS) -> None:
        """Finish what runs within `grace` seconds; then end it. May be cancelled, and called again with less grace.

        What is ended has `wind_up` seconds to put its things in order.
        """
        self.closing = True
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.close()
        if self._local is not None:
            self._local.remove()
        for connection in list(self._connections):
            connection.retire()
        await self._until(lambda: not any(connection.busy for connection in self._connections), grace)
        for connection in list(self._connections):
            connection.interrupt()
        await asyncio.sleep(0)  # by then a handler that was held back works on its end in a task
        await self._until(lambda: not self._working, wind_up)
        await self._until(lambda: not self._connections, _WIND_UP_SECONDS)
        for connection in list(self._connections):
            connection.kill()
        if self._ticker is not None:
            self._ticker.cancel()

    # What connections call.

    def joined(self, connection: Connection) -> None:
        self._connections.add(connection)
        if self._ticker is None:
            self._ticker = self.loop.call_later(self.limits.tick_seconds, self._tick)
        if len(self._connections) > self.limits.connections:
            # Close the one that is missed least: a crowd that asks nothing keeps nobody out.
            others = [each for each in self._connections if each is not connection]
            ranks = {each: rank for each in others if (rank := each.dispensable) is not None}
            min(ranks, key=lambda each: ranks[each], default=connection).give_way()

    def left(self, connection: Connection) -> None:
        self._connections.discard(connection)
        self._receiving.pop(connection, None)
        self._changed.set()

    def charge(self, connection: Connection, more: int, is_coming: bool) -> None:
        """A connection holds so many bytes of long bodies more than before. `is_coming`: one of them is not whole yet.

        Over the bound, the body that has been coming for the longest time is refused: an honest one is soon whole.
        """
        self._held += more
        if is_coming:
            self._receiving.setdefault(connection)
        else:
            self._receiving.pop(connection, None)
        while self._held > self.limits.bodies_bytes and self._receiving:
            oldest = next(iter(self._receiving))
            del self._receiving[oldest]
            oldest.refuse_body(_OVER_BUDGET)

    def works(self, task: asyncio.Task[None]) -> None:
        """Something is being answered in a task. It may outlive its connection, and is waited for all the same."""
        self._working.add(task)
        task.add_done_callback(self._is_done)

    def _is_done(self, task: asyncio.Task[None]) -> None:
        self._working.discard(task)
        if self.closing:
            self._changed.set()

    def rested(self) -> None:
        """A connection has nothing more to answer for now. Only who is closing wants to know."""
        self._changed.set()

    async def _until(self, done: Callable[[], bool], seconds: float) -> None:
        """Wait until it is so, or the time is over."""
        try:
            async with asyncio.timeout(seconds):
                while not done():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return

    def _tick(self) -> None:
        """Let every connection look at its time limits; again and again, while there are any."""
        now = self.now()
        for connection in list(self._connections):
            connection.tick(now)
        self._ticker = self.loop.call_later(self.limits.tick_seconds, self._tick) if self._connections else None


async def listen(
    handle: Handle,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    path: str | None = None,
    sock: socket.socket | None = None,
    reuse_port: bool = False,
    refuse: Refuse = refuse_plainly,
    limits: ServerLimits | None = None,
    check: Check | None = None,
) -> Server:
    """Start to serve on a host's port (0 takes a free one), on a unix socket that only its owner can open, or on a socket
    that is bound already. `reuse_port`: other processes may listen there too. `check` sees a request before its body.
    Raises OSError where it cannot listen."""
    server = Server(handle, refuse, limits or ServerLimits(), check)
    if path is not None:
        local = LocalSocket(path)
        await server.open(local.bind(), local)
    else:
        await server.open(sock or bound(host, port, reuse_port=reuse_port))
    return server


def bound(host: str, port: int, *, reuse_port: bool = False) -> socket.socket:
    """A TCP socket at this address, not yet listening. Raises OSError where there is none to have."""
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    plug = socket.socket(family, kind, protocol)
    try:
        plug.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "TCP_NOTSENT_LOWAT"):  # connections inherit it
            plug.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _UNSENT)
        if reuse_port:
            plug.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if family == socket.AF_INET6:
            plug.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        plug.bind(address)
    except OSError:
        plug.close()
        raise
    return plug
