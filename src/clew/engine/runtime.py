"""The works: store, way out, present settings, engine, and how they fit together.

This is the one place that knows it, for every gateway, its workers and their parent, and for a conversation in a process of
one's own. Opening the store can take a while (a migration, another process), so it happens in a thread.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from clew.engine.aside import apart
from clew.engine.current import Current, Reloaded
from clew.engine.engine import Engine
from clew.engine.histories import Histories
from clew.engine.hub import Hub
from clew.engine.log.files import LogOutput, open_log_file
from clew.engine.log.request_log import RequestLog, open_log
from clew.engine.services import EngineServices
from clew.engine.wakeup import Wakeup, stamp_of
from clew.exchange.redact import Redactor
from clew.model.recording import Recording
from clew.model.turn import Exchange
from clew.settings.home import Home
from clew.settings.load import Loaded
from clew.settings.own_keys import load_keyring
from clew.settings.values import Settings, StoreSettings
from clew.store import Store, open_store, run_housekeeping
from clew.store.commits import COMMIT_LIMIT
from clew.store.values import Retention
from clew.thinking.seal import Sealer
from clew.upstream.pool import Pool, PoolSettings

Finished: TypeAlias = Callable[[Exchange, Recording | None], None]
"""Told of an exchange that is over, and of what was recorded of its answer."""

_MEGABYTE = 1024 * 1024
_READ_ONCE: Final[Mapping[str, tuple[str, ...]]] = {
    "gateway": (
        *("host", "port", "admin_port", "workers", "max_body_megabytes", "history_megabytes"),
        *("bodies_megabytes", "max_head_kilobytes", "max_headers", "head_seconds", "body_seconds", "body_rate"),
        *("write_seconds", "idle_seconds"),
    ),
    "store": ("url",),
    "log": ("form", "file", "file_megabytes", "older_files"),
}
"""Tables, and the keys of each that say how a process begins. All others hold as soon as the file is read."""

_log = logging.getLogger("clew.engine")


@dataclass(slots=True, kw_only=True)
class Runtime:
    """One process's engine and all that it stands on."""

    store: Store | None
    pool: Pool
    current: Current
    hub: Hub
    engine: Engine
    _tasks: list[asyncio.Task[None]] = field(default_factory=list[asyncio.Task[None]])

    def keep_up(self, wakeup: Wakeup | None = None) -> None:
        """Follow the settings, at once where `wakeup` is woken, and keep the store tidy, until the end."""
        self._start(self.current.follow(wakeup))
        if self.store is not None:

            def retention() -> Retention:
                wanted = self.current.settings.store
                return Retention(age=wanted.age, bytes=wanted.bytes, bodies_age=wanted.bodies_age)

            self._start(run_housekeeping(self.store, retention, clock=time.time, doubted=_log.warning))

    def store_state(self) -> str:
        """How the store is: ok, degraded or read-only; off without one."""
        return self.store.health().state if self.store else "off"

    async def close(self) -> None:
        """Let go of backends, then commit what waits."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.pool.close()
        if self.store is not None:
            await apart(self.store.close)  # not behind what occupies the threads that all share

    def _start(self, work: Coroutine[None, None, None]) -> None:
        self._tasks.append(asyncio.get_running_loop().create_task(work))


async def build_runtime(
    loaded: Loaded,
    home: Home,
    *,
    name: str = "",
    file: Path | None = None,
    choice: str = "",
    environ: Mapping[str, str] = os.environ,
    logs: bool = True,
    log_to: LogOutput | None = None,
    hidden: tuple[str, ...] = (),
    finished: Finished | None = None,
    commit_seconds: float = COMMIT_LIMIT,
) -> Runtime:
    """Raises StoreError and SettingsInvalid where something cannot be used.

    `name` is a gateway's; `file` the settings file, if one was named; `choice` the backend to begin with, in any case.
    `logs` opens the log of requests, not in another program's process: at `log_to`, else where the settings say. `hidden`
    are secrets that it may not show; `finished` is told of each exchange, after the log. `commit_seconds`: law 8.
    """
    settings = loaded.settings
    redact = Redactor([*hidden, *_vendor_keys(settings)])
    log = _open_request_log(settings, redact, log_to or open_log_file(settings.log, home.root)) if logs else None
    sealer, store = await asyncio.to_thread(_open_store, settings.store, home, environ)
    services = EngineServices(
        pool=(pool := Pool(_pool_settings(settings, environ))),
        snapshot=lambda: current.snapshot,
        store=store,
        log=log,
        finished=finished,
        commit_seconds=commit_seconds,
        redact=redact,
        wall=partial(_wall, store),
        histories=Histories(settings.gateway.history_megabytes * _MEGABYTE),
    )
    current = Current(
        loaded,
        sealer,
        store=store,
        gateway=name,
        environ=environ,
        file=file,
        choice=choice,
        secret=home.secret,
        switched=log.switched if log else lambda old, new: None,
        reloaded=partial(_learnt, redact, log, _renewing(pool, environ), store, settings),
        deleted=services.forget_threads,
        stored=partial(_take_limits, services, asyncio.get_running_loop()),
    )
    return Runtime(store=store, pool=pool, current=current, hub=services.hub, engine=Engine(services))


def _open_store(kept: StoreSettings, home: Home, environ: Mapping[str, str]) -> tuple[Sealer, Store | None]:
    sealer = load_keyring(home.secret, environ).sealer()
    return sealer, open_store(
        kept.url, home.root, content=kept.content, bodies=kept.kept_bodies, serves=True, seal_keys=sealer.ids
    )


def _open_request_log(settings: Settings, redact: Redactor, out: LogOutput | None) -> RequestLog:
    sink = open_log(settings.log, redact, out=out)
    return RequestLog(settings.log, sink=sink, by_sessions=settings.thinking.policy == "session")


def _learnt(
    redact: Redactor,
    log: RequestLog | None,
    renew: Reloaded,
    store: Store | None,
    started: Settings,
    settings: Settings,
) -> None:
    """What a new file says about the log, the way out and what is kept holds from then on, and no log shows its keys."""
    redact.learn(_vendor_keys(settings))
    renew(settings)
    if log is not None:
        log.follow(settings.log, by_sessions=settings.thinking.policy == "session")
    if store is not None:
        store.configure(content=settings.store.content, bodies=settings.store.kept_bodies)
    if waiting := _waiting_for_a_start(started, settings):
        _log.warning("restart the gateway to apply: %s", ", ".join(waiting))


def _wall(store: Store | None) -> float:
    """The time by the clock of the store: several machines may share it."""
    return time.time() + store.clock_offset if store else time.time()


def _take_limits(services: EngineServices, loop: asyncio.AbstractEventLoop) -> None:
    """In the thread that reads the store; the loop alone changes what requests see."""
    services.limits.look()
    if (told := services.limits_told()).until:
        loop.call_soon_threadsafe(services.take_limits, told)


def _waiting_for_a_start(started: Settings, now: Settings) -> list[str]:
    """The keys that are read once, and that the file has changed since."""
    return [
        f"{table}.{name}"
        for table, names in _READ_ONCE.items()
        for name in names
        if getattr(getattr(started, table), name) != getattr(getattr(now, table), name)
    ]


def _renewing(pool: Pool, environ: Mapping[str, str]) -> Reloaded:
    """Connections belong to the loop that runs here."""
    loop = asyncio.get_running_loop()

    def renew(settings: Settings) -> None:
        loop.call_soon_threadsafe(pool.renew, _pool_settings(settings, environ))

    return renew


def _pool_settings(settings: Settings, environ: Mapping[str, str]) -> PoolSettings:
    return PoolSettings(
        connections=max(500, settings.gateway.max_streams),
        timeouts=settings.timeouts,
        ca_file=settings.ca_file or None,
        ca_stamp=stamp_of(settings.ca_file),
        proxy_environ=environ if settings.proxy else None,
    )


def _vendor_keys(settings: Settings) -> list[str]:
    return [key.reveal() for backend in settings.backends.values() for key in backend.keys]
