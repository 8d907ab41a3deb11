"""A gateway as a process: listen first, load the rest, serve, drain.

A client can connect as soon as the settings are read; what it asks waits until the engine is there. At the end the port is
free at once, `/readyz` says 503 to whoever still has a connection, running answers go on for as long as the settings say,
and what is then left gets an error event of its own dialect. A second signal ends that at once.

What stands beside the data plane (the admin, for one) is brought by the caller as a context: this module knows none of it.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import resource
import socket
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Final

from clew.gateway.deadline import Deadline
from clew.gateway.limits import limits_of, memory_of_process, raise_descriptors
from clew.gateway.plan import Plan, check_exposure, url_of
from clew.gateway.plane import AsStarted, DataPlane
from clew.gateway.presence import Presence
from clew.gateway.signals import Ending
from clew.http.server import Server, bound, listen
from clew.settings.gateway_key import KeyTable, load_key
from clew.settings.home import Home
from clew.settings.load import Loaded

if TYPE_CHECKING:
    from clew.gateway.works import Finished, Works

__all__ = ["Gateway", "claim", "opened"]

_log = logging.getLogger("clew.gateway")
_BACKLOG: Final = 1024
_KEEPING: Final = 0.5
"""Of `closing_seconds`: for what was cut off to be put together. The rest is for the store, and for what stands beside."""


@dataclass(slots=True)
class Gateway:
    """One that listens. `load` makes it answer, `drain` ends it."""

    plan: Plan
    loaded: Loaded
    home: Home
    environ: Mapping[str, str]
    key: str
    """The operator's own, for the line that is printed."""
    plane: DataPlane
    server: Server
    keys: KeyTable
    presence: Presence

    @property
    def url(self) -> str:
        return url_of(self.plan.host, self.server.port)

    @asynccontextmanager
    async def load(self, log_to: IO[str] | None = None, finished: Finished | None = None) -> AsyncGenerator[Works]:
        """Bring the engine; the works are closed behind the block."""
        from clew.gateway.memory import keep_memory  # late: the listener does not wait for it
        from clew.gateway.works import build_works

        keep_memory()
        hidden = tuple(filter(None, (self.key, self.plan.run_key)))
        works = await build_works(
            self.plan, self.loaded, self.home, environ=self.environ, log_to=log_to, hidden=hidden, finished=finished
        )
        try:
            self._tell_room()
            with self.presence.reporting(works.current, self.keys):
                await asyncio.to_thread(self.presence.catch_up, works.current)
                self.plane.serve(works.engine, works.current)
                works.keep_up(self.presence.wakeup)
                yield works
        finally:
            self.presence.close()
            await works.close()

    async def close(self) -> None:
        """At once, whatever is under way."""
        self.presence.close()
        await self.server.close(grace=0)

    def _tell_room(self) -> None:
        """Say so if the system allows less than the settings."""
        wanted, room = self.loaded.settings.gateway.max_streams, self.server.limits.connections
        if room < wanted:
            _log.warning(
                "max_streams is %d instead of %d: this process may open %d files (see `ulimit -n`)",
                *(room, wanted, resource.getrlimit(resource.RLIMIT_NOFILE)[0]),
            )

    async def drain(self, ending: Ending) -> None:
        """Take nobody new, let the running ones finish, end the rest; at once if somebody insists."""
        self.plane.draining = True
        wanted = self.plane.governs.settings.gateway
        keeping = wanted.closing_seconds * _KEEPING
        closing = asyncio.ensure_future(self.server.close(wanted.drain_seconds, wind_up=keeping))
        insisting = asyncio.ensure_future(ending.insisted.wait())
        await asyncio.wait({closing, insisting}, return_when=asyncio.FIRST_COMPLETED)
        insisting.cancel()
        if not closing.done():
            closing.cancel()
            await self.server.close(grace=0, wind_up=keeping)

    def limit(self, deadline: Deadline) -> None:
        """From now on the settings say when the process ends."""
        deadline.drain_seconds = lambda: self.plane.governs.settings.gateway.drain_seconds
        deadline.closing_seconds = lambda: self.plane.governs.settings.gateway.closing_seconds


async def opened(
    plan: Plan,
    loaded: Loaded,
    home: Home,
    *,
    environ: Mapping[str, str] = os.environ,
    sock: socket.socket | None = None,
) -> Gateway:
    """Begin to listen. Raises OSError where it cannot, SettingsInvalid where it should not.

    With `sock` it is a worker, whose parent is in the registry; without, it is there before anybody can connect.
    """
    home.make()
    check_exposure(plan, home, environ)
    key = load_key(home, environ)
    keys = KeyTable(key, home.keys, extra={plan.run_key: "local"} if plan.run_key else None)
    wanted = loaded.settings.gateway
    limits = limits_of(wanted, raise_descriptors(wanted.max_streams), memory_of_process() // plan.workers)
    plane = DataPlane(AsStarted(loaded.settings), keys, room=limits.connections)
    presence = Presence(home, plan, loaded, is_worker=sock is not None)
    try:
        sock = sock or claim(plan, bound_to=lambda port: presence.enter(url_of(plan.host, port)))
        server = await listen(plane.handle, sock=sock, refuse=plane.refuse, limits=limits, check=plane.check)
    except BaseException:
        presence.close()
        raise
    plane.listening(plan.host, server.port)
    return Gateway(plan, loaded, home, environ, key, plane, server, keys, presence)


def claim(plan: Plan, *, reuse_port: bool = False, bound_to: Callable[[int], object] = lambda port: None) -> socket.socket:
    """A socket at the first port of the plan that is free. Raises OSError if none is. `bound_to` is told the port before
    anybody can connect to it.

    A port that is to be shared must be free as well: sharing is for our own workers, not with whoever is there.
    """
    ports = plan.ports()
    for port in ports:
        try:
            plug = _listening(plan.host, port, bound_to)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or port == ports[-1]:
                raise
            continue
        if not reuse_port:
            return plug
        port = plug.getsockname()[1]
        plug.close()
        return bound(plan.host, port, reuse_port=True)
    raise AssertionError("a plan has a port")


def _listening(host: str, port: int, bound_to: Callable[[int], object]) -> socket.socket:
    """Listening already: two processes that begin at once may both bind a port, and only one of them can listen on it."""
    plug = bound(host, port)
    try:
        bound_to(plug.getsockname()[1])
        plug.listen(_BACKLOG)
    except BaseException:
        plug.close()
        raise
    return plug
