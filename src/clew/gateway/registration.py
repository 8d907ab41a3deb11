"""Registration: a process of a gateway, as the commands of the same home see it.

The process writes its report before it listens, and its entry in the registry before any client can connect; so a command
that is called when the port is open finds both. The report names settings that are applied already: a later request is
served by them.
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

if TYPE_CHECKING:
    from clew.engine.current import Current


class ReportedKeys(Protocol):
    """The table of named keys, as far as it is reported."""

    @property
    def digest(self) -> str: ...
    def look(self) -> None: ...


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
            config=self._config,
        )
        self._entry = register(self._home, entry)
        return self._entry

    @contextmanager
    def reporting(self, current: Current, keys: ReportedKeys) -> Generator[None]:
        """In this block, each poll for settings writes a report if something changed."""

        def report_change() -> None:
            keys.look()
            applied = structs.replace(current.applied(), keys=keys.digest)
            if applied != self._reported:
                self._report(applied)
                self._reported = applied

        with current.beside(report_change):
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
