"""Presence: a process of a gateway, as the commands of the same home see it.

Its report is there before it listens, and its entry in the registry before anybody can connect; so a command that is called
when the port is open finds both. What is in the report was applied before: a request that comes later is served by it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from msgspec import structs

from clew.engine.wakeup import Wakeup
from clew.gateway.plan import Plan
from clew.settings.home import Home
from clew.settings.load import Loaded
from clew.settings.processes import Applied, ProcessReport, remove_report, wakeup_path, write_report
from clew.settings.running import Running, register, unregister

if TYPE_CHECKING:
    from clew.engine.current import Current

__all__ = ["Presence", "ReadsKeys"]


class ReadsKeys(Protocol):
    """The table of named keys, as far as it is reported."""

    @property
    def digest(self) -> str: ...
    def look(self) -> None: ...


class Presence:
    """Reports what this process has applied, from its start to `close`."""

    def __init__(self, home: Home, plan: Plan, loaded: Loaded, *, is_worker: bool = False) -> None:
        self._home = home.make()
        self._plan = plan
        self._config = loaded.place
        self._is_worker = is_worker
        self._started = time.time()
        self._entry: Running | None = None
        self._told: Applied | None = None
        self.wakeup = Wakeup(wakeup_path(home, plan.name, os.getpid()))
        self._report(None)

    def enter(self, url: str, *, admin_url: str = "", socket: str = "") -> Running:
        """Into the registry of gateways; again when the admin is there."""
        begun = Running(
            pid=os.getpid(),
            url=url,
            admin_url=admin_url,
            socket=socket,
            started=self._started,
            name=self._plan.name,
            choice=self._plan.choice,
            config=self._config,
        )
        self._entry = register(self._home, begun)
        return self._entry

    @contextmanager
    def reporting(self, current: Current, keys: ReadsKeys) -> Generator[None]:
        """With each glance."""

        def look() -> None:
            keys.look()
            applied = structs.replace(current.applied(), keys=keys.digest)
            if applied != self._told:
                self._report(applied)
                self._told = applied

        with current.beside(look):
            yield

    def catch_up(self, current: Current) -> None:
        """Take over what changed while this process started, before it answers anybody. Belongs into a thread.

        Twice: for what is changed after the first look and before the first report no command waits.
        """
        current.look(whole=True)
        current.look(whole=True)

    def close(self) -> None:
        """From now on nobody asks this process. It may be closed already."""
        remove_report(self._home, self._plan.name, os.getpid())
        if self._entry is not None:
            unregister(self._home, self._entry)
            self._entry = None

    def _report(self, applied: Applied | None) -> None:
        generation = applied.generation if applied else ""
        report = ProcessReport(
            gateway=self._plan.name,
            pid=os.getpid(),
            is_worker=self._is_worker,
            generation=generation,
            applied=applied,
        )
        write_report(self._home, report)
