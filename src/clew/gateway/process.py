"""A gateway as a process: listen first, load the rest, serve, drain.

A client can connect as soon as the settings are read; its request waits until the engine is there. At the end `/readyz` says
503. The port is free at once, or after `keep_accepting_seconds`; running answers go on for as long as the settings say, and
the clients of those that are left get an error event of their dialect. A second signal ends that at once.

The process writes its report before it listens, and its entry in the registry before any client can connect
(`ProcessRegistration`); so a command that is called when the port is open finds both. The report names settings that are
applied already: a later request is served by them.

The caller brings what stands beside the data plane, such as the admin, as a context: this module knows none of it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import socket
import time
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from msgspec import structs

from clew.engine.wakeup import Wakeup
from clew.errors import SettingsInvalid
from clew.gateway.ending import Deadline, Ending
from clew.gateway.plan import Plan, check_exposure, claim_port, url_of
from clew.gateway.plane import DataPlane, StartupSettings
from clew.gateway.resources import (
    FreedMemory,
    client_limits,
    keep_freed_memory,
    raise_file_limit,
    rare_collections,
    usable_memory,
)
from clew.http.server import Server, listen
from clew.limits.keys import NamedKey
from clew.settings.home import Home
from clew.settings.key_table import KeyTable
from clew.settings.load import Loaded
from clew.settings.named_keys import NamedKeys, known_keys
from clew.settings.own_keys import load_key
from clew.settings.processes import (
    AppliedSettings,
    ProcessReport,
    RegisteredGateway,
    register,
    remove_report,
    unregister,
    wakeup_path,
    write_report,
)
from clew.settings.registry_reports import report_of, write_registry_report
from clew.store.kinds import is_shared, location_of
from clew.store.values import GatewayProcess

if TYPE_CHECKING:
    from clew.engine.current import Current
    from clew.engine.log.files import LogOutput
    from clew.engine.runtime import Finished, Runtime


_log = logging.getLogger("clew.gateway")
_RECORDING: Final = 0.5
"""The part of `closing_seconds` in which answers that were cut off are put together. The rest is for the store and the
admin."""


class ProcessRegistration:
    """Reports which settings this process has applied, from its start to `close`."""

    def __init__(self, home: Home, plan: Plan, loaded: Loaded, *, is_worker: bool = False) -> None:
        self._home = home.make()
        self._plan = plan
        self._config = loaded.place
        self._is_worker = is_worker
        self._started = time.time()
        self._entry: RegisteredGateway | None = None
        self._reported: AppliedSettings | None = None
        self._table: object = None
        """The table of the session policy that was written last."""
        self.wakeup = Wakeup(wakeup_path(home, plan.name, os.getpid()))
        self._report(None)

    def enter(self, url: str, *, admin_url: str = "", socket: str = "") -> RegisteredGateway:
        """Enter this process into the registry of gateways, and again when its admin listens."""
        entry = RegisteredGateway(
            pid=os.getpid(),
            url=url,
            admin_url=admin_url,
            socket=socket,
            started=self._started,
            name=self._plan.name,
            choice=self._plan.choice,
            model=self._plan.model,
            config=self._config,
        )
        self._entry = register(self._home, entry)
        return self._entry

    @contextmanager
    def reporting(self, current: Current, keys: KeyTable, limits: Callable[[], str] = lambda: "") -> Generator[None]:
        """In this block, each poll for settings writes a report if something changed. `limits`: their digest."""

        def report_change() -> None:
            keys.look()
            applied = structs.replace(current.applied(), keys=keys.digest, limits=limits())
            if applied != self._reported:
                self._report(applied)
                self._reported = applied

        with current.beside(report_change):
            yield

    @contextmanager
    def reporting_blocks(self, runtime: Runtime) -> Generator[None]:
        """In this block, each poll for settings writes the table of the session policy if it changed."""
        services = runtime.engine.services

        def report_table() -> None:
            registry = services.sessions.registry
            table = (registry.session, registry.entries)
            if registry.session and table != self._table:
                now, wall = services.clock(), services.wall()
                write_registry_report(self._home, report_of(registry, self._plan.name, os.getpid(), now=now, wall=wall))
                self._table = table

        with runtime.current.beside(report_table):
            yield

    @contextmanager
    def announcing(self, runtime: Runtime) -> Generator[None]:
        """In this block, gateways that share the store know of this one, and of what it has taken over."""
        store, current = runtime.store, runtime.current
        if store is None or not is_shared(current.loaded.settings.store.url):
            yield
            return

        def announce() -> None:
            if current.taken >= 0:
                store.announce(
                    GatewayProcess(
                        name=self._plan.name,
                        machine=socket.gethostname(),
                        pid=os.getpid(),
                        address=(self._entry.admin_url or self._entry.url) if self._entry else "",
                        version=_release(),
                        config=current.loaded.digest,
                        active=current.snapshot.active,
                        problem=current.problem,
                        taken=current.taken,
                    )
                )

        with current.beside(announce):
            yield

    def catch_up(self, current: Current) -> None:
        """Apply what changed while this process started, before it answers any request. Takes time: call it in a thread.

        It looks twice, because no command waits for a change between the first look and the first report.
        """
        current.look(whole=True)
        current.look(whole=True)

    def close(self) -> None:
        """From now on no command asks this process. May be called again."""
        remove_report(self._home, self._plan.name, os.getpid())
        if self._entry is not None:
            unregister(self._home, self._entry)
            self._entry = None

    def _report(self, applied: AppliedSettings | None) -> None:
        report = ProcessReport(
            gateway=self._plan.name,
            pid=os.getpid(),
            is_worker=self._is_worker,
            generation=applied.generation if applied else "",
            applied=applied,
        )
        write_report(self._home, report)


async def build_gateway_runtime(
    plan: Plan,
    loaded: Loaded,
    home: Home,
    *,
    environ: Mapping[str, str] = os.environ,
    log_to: LogOutput | None = None,
    hidden: tuple[str, ...] = (),
    finished: Finished | None = None,
) -> Runtime:
    """The store, the engine and the connections of this process. Raises StoreError and SettingsInvalid.

    `hidden` are secrets that no log may show; `finished` is called with every exchange that is over, after the log.
    """
    from clew.engine import runtime  # late: the listener does not wait for it

    return await runtime.build_runtime(
        loaded,
        home,
        name=plan.name,
        file=plan.file,
        choice=plan.choice,
        environ=environ,
        log_to=log_to,
        hidden=hidden,
        finished=finished,
    )


@dataclass(slots=True)
class Gateway:
    """A gateway that listens. `load` makes it answer, `drain` ends it."""

    plan: Plan
    loaded: Loaded
    home: Home
    environ: Mapping[str, str]
    key: str
    """The operator's own, for the line that is printed."""
    plane: DataPlane
    server: Server
    keys: KeyTable
    registration: ProcessRegistration

    @property
    def url(self) -> str:
        return url_of(self.plan.host, self.server.port)

    @asynccontextmanager
    async def load(self, log_to: LogOutput | None = None, finished: Finished | None = None) -> AsyncGenerator[Runtime]:
        """Load the engine. Inside this block the gateway answers requests."""
        keep_freed_memory()
        runtime = await build_gateway_runtime(
            self.plan,
            self.loaded,
            self.home,
            environ=self.environ,
            log_to=log_to,
            hidden=tuple(filter(None, (self.key, self.plan.run_key))),
            finished=finished,
        )
        try:
            wanted, room = self.loaded.settings.gateway.max_streams, self.server.limits.connections
            if room < wanted:
                files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
                message = "max_streams is %d instead of %d: this process may open %d files (see `ulimit -n`)"
                _log.warning(message, room, wanted, files)
            registration = self.registration
            self.keys.follow(NamedKeys(self.home, runtime.store))
            with (
                registration.reporting(runtime.current, self.keys, lambda: runtime.engine.services.limits.digest),
                registration.reporting_blocks(runtime),
                registration.announcing(runtime),
                runtime.current.beside(runtime.engine.services.limits.refresh),
            ):
                await asyncio.to_thread(self.registration.catch_up, runtime.current)
                self.plane.serve(runtime.engine, runtime.current, runtime.store_state)
                runtime.keep_up(self.registration.wakeup)
                with rare_collections(), runtime.current.beside(FreedMemory().look):  # every answer waits for a collection
                    yield runtime
        finally:
            self.registration.close()
            await runtime.close()

    async def close(self) -> None:
        """End at once, without waiting for exchanges under way."""
        self.registration.close()
        await self.server.close(grace=0)

    async def drain(self, ending: Ending) -> None:
        """Keep accepting for as long as the settings say, let the running requests finish, end the rest; at once if the end
        is insisted on."""
        self.plane.draining = True
        wanted = self.plane.source.settings.gateway
        await ending.wait_unless_insisted(wanted.keep_accepting_seconds)
        recording = wanted.closing_seconds * _RECORDING
        closing = asyncio.ensure_future(self.server.close(wanted.drain_seconds, wind_up=recording))
        insisting = asyncio.ensure_future(ending.insisted.wait())
        await asyncio.wait({closing, insisting}, return_when=asyncio.FIRST_COMPLETED)
        insisting.cancel()
        if not closing.done():
            closing.cancel()
            await self.server.close(grace=0, wind_up=recording)

    def limit(self, deadline: Deadline) -> None:
        """From now on the settings say when the process ends."""
        deadline.drain_seconds = lambda: self.plane.source.settings.gateway.seconds_to_drain
        deadline.closing_seconds = lambda: self.plane.source.settings.gateway.closing_seconds


async def open_gateway(
    plan: Plan,
    loaded: Loaded,
    home: Home,
    *,
    environ: Mapping[str, str] = os.environ,
    sock: socket.socket | None = None,
) -> Gateway:
    """Begin to listen. Raises OSError where that is not possible, SettingsInvalid where it is not allowed.

    With `sock` the process is a worker, whose parent is in the registry. Without, it is there before a client can connect.
    """
    home.make()
    check_exposure(plan, home, environ)
    key = load_key(home, environ)
    keys = key_table(key, loaded, home, {plan.run_key: "local"} if plan.run_key else {})
    wanted = loaded.settings.gateway
    limits = client_limits(wanted, raise_file_limit(wanted.max_streams), usable_memory() // plan.workers)
    plane = DataPlane(StartupSettings(loaded.settings), keys, room=limits.connections)
    registration = ProcessRegistration(home, plan, loaded, is_worker=sock is not None)
    try:
        sock = sock or claim_port(plan, bound_to=lambda port: registration.enter(url_of(plan.host, port)))
        server = await listen(plane.handle, sock=sock, refuse=plane.refuse, limits=limits, check=plane.check)
    except BaseException:
        registration.close()
        raise
    plane.listening(plan.host, server.port)
    return Gateway(plan, loaded, home, environ, key, plane, server, keys, registration)


def key_table(key: str, loaded: Loaded, home: Home, extra: Mapping[str, str]) -> KeyTable:
    """The gateway's own key, and the named ones as they are known before the store is open."""
    known: Sequence[NamedKey] = ()
    location = location_of(loaded.settings.store.url, home.root)
    with suppress(SettingsInvalid):  # the first look at the table says what is wrong with it
        known = known_keys(home, location.describe() if location else "")
    table = KeyTable(key, known=known, extra=extra)
    table.await_source()
    return table


@cache
def _release() -> str:
    from importlib.metadata import version  # late: it imports parsers of mail and archives

    return version("clew")
