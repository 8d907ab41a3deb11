"""A gateway as it is served, on a real port, in front of simulators; with the switches that a user has.

`Gate` is the whole of it but for the process: listener, data plane, engine, store on disk. A restart closes all of that and
begins again from what is on the disk. `ProcessGate` is `clew serve` itself, and its restart a `kill -9`. `Straight` is no
gateway at all: the client talks to the first simulator. `SharedGate` is three gateways on one PostgreSQL behind a balancer.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from clew.backends.presets import presets
from clew.engine.choices import ACTIVE
from clew.engine.runtime import Runtime
from clew.gateway.plan import Plan
from clew.gateway.process import open_gateway
from clew.settings.home import Home
from clew.settings.load import load
from clew.store.sqlite.store import SqliteStore
from clew.testing import Simulator
from clew.testing.simulator import Background
from tests.fleet import Fleet
from tests.forking import ClewProcess

KEY = "chaos-key"
PATIENCE = 120.0
"""Seconds that a commit may take. A turn that a busy disk did not take in time is reported as unrecorded, and its blocks
cannot be put back: a promise of its own, and what is shown here must not depend on how busy the machine is."""


class Way(Protocol):
    """How a client's requests get to a simulator."""

    @property
    def url(self) -> str: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    def use(self, backend: str) -> None: ...
    def restart(self) -> None: ...


class Straight:
    def __init__(self, simulator: Simulator) -> None:
        self.url = simulator.url
        self.headers = {"x-api-key": simulator.key}

    def use(self, backend: str) -> None:
        """There is only one."""

    def restart(self) -> None:
        """There is nothing to restart."""


class Gate:
    """Backends by the names of their simulators. `more` is added to the settings file."""

    def __init__(self, home: Path, simulators: Mapping[str, Simulator], more: str = "") -> None:
        self.headers = {"x-api-key": KEY}
        self._home = Home(home)
        self._environ = {"CLEW_HOME": str(home), "CLEW_KEY": KEY}
        self._file = _written(home, simulators, more)
        self._background = Background()
        self._open = AsyncExitStack()
        self._runtime: Runtime
        self.url = ""

    def __enter__(self) -> Self:
        self._background.__enter__()
        self._background.call(self._start())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._background.call(self._open.aclose())
        self._background.__exit__(kind, error, trace)

    def use(self, backend: str) -> None:
        """As `clew use` does it; what follows the store's settings looks at once instead of twice a second."""
        assert self._runtime.store is not None
        self._runtime.store.set(ACTIVE, backend, at=time.time()).result(120)
        self._runtime.current.poll()

    def restart(self) -> None:
        self._background.call(self._open.aclose())
        self._background.call(self._start())

    async def _start(self) -> None:
        plan = Plan(name="chaos", port=0, admin_port=0, named_file=str(self._file))
        gateway = await open_gateway(plan, load(self._file, self._environ), self._home, environ=self._environ)
        self._open.push_async_callback(gateway.server.close, 1.0)
        self._runtime = await self._open.enter_async_context(gateway.load())
        self._runtime.engine.services.commit_seconds = PATIENCE
        self.url = gateway.url


class ProcessGate:
    """`clew serve`. What it is told to use it follows when it looks next, as in life."""

    def __init__(self, home: Path, simulators: Mapping[str, Simulator]) -> None:
        self.headers = {"x-api-key": KEY}
        self.url = ""
        self._home = Home(home)
        self._environ = {**_clean_environ(), "CLEW_HOME": str(home), "CLEW_KEY": KEY}
        self._file = _written(home, simulators)
        self._log = home / "log"
        self._process: subprocess.Popen[str]

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._kill()

    def use(self, backend: str) -> None:
        with SqliteStore(self._home.root / "clew.db") as store:
            store.set(ACTIVE, backend, at=time.time()).result(120)

    def restart(self) -> None:
        self._kill()
        self._start()

    def _start(self) -> None:
        asked = ["serve", "--config", self._file, "--port", "0", "--no-admin", "--json"]
        with self._log.open("a") as log:
            self._process = ClewProcess(
                asked, patient=True, env=self._environ, stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert self._process.stdout is not None
        self.url = json.loads(self._process.stdout.readline())["url"]

    def _kill(self) -> None:
        self._process.kill()
        self._process.wait(120)
        assert self._process.stdout is not None
        self._process.stdout.close()


class SharedGate(Fleet):
    """Each request goes to any of three gateways, and a restart is a `kill -9` of one of them."""

    def __init__(self, folder: Path, simulators: Mapping[str, Simulator], database: str, seed: int) -> None:
        file = _written(folder, simulators, f'\n[store]\nurl = "{database}"\n')
        super().__init__(file, folder, database, environ={"CLEW_KEY": KEY}, seed=seed)
        self.headers = {"x-api-key": KEY}


def _clean_environ() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("ANTHROPIC_", "CLEW_"))}


def _written(home: Path, simulators: Mapping[str, Simulator], more: str = "") -> Path:
    """The settings file, readable to its owner alone because there are keys in it."""
    file = home / "clew.toml"
    home.mkdir(mode=0o700, exist_ok=True)
    file.write_text(_settings(simulators) + more)
    file.chmod(0o600)
    return file


def _settings(simulators: Mapping[str, Simulator]) -> str:
    tables = [f'active = "{next(iter(simulators))}"\n[log]\nlevel = "warning"\n']
    for name, simulator in simulators.items():
        table = "".join(f'{key} = "{value}"\n' for key, value in _table(name, simulator).items())
        tables.append(f"[backends.{name}]\n{table}")
    return "\n".join(tables)


def _table(name: str, simulator: Simulator) -> dict[str, str]:
    table = simulator.backend
    if name == "claude":
        return {**table, "realm": "anthropic"}
    if "dialect" not in table:
        return {**table, "model": f"{name}-5"}
    preset = presets().get(table.get("preset", ""))
    if preset is not None and preset.speaking(table["dialect"]) is not None:
        return table
    return {key: value for key, value in table.items() if key != "preset"} | {"model": "gpt-5.6", "realm": name}
