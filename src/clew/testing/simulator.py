"""The simulator inside a test: `with Simulator() as sim:` starts it on a free port, in a thread with a loop of its own.

with Simulator(seed=7) as sim:
    client = anthropic.Anthropic(base_url=sim.url, api_key=sim.key)
    sim.fault("status 529 retry-after=0")
    client.messages.create(...)
    assert [entry["ended"] for entry in sim.journal()] == ["whole", "whole"]
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import msgspec

from clew.backends.presets import presets
from clew.http.loops import LoopThread
from clew.settings.home import Home, write_private
from clew.simulator.faults import parse
from clew.simulator.interfaces import Judge, Kind, Stance
from clew.simulator.journal import entries_json
from clew.simulator.server import Simulation, speaks_chat, speaks_responses, start
from clew.simulator.server import stance as make_stance
from clew.simulator.vendor_server import SimulatorSettings, VendorServer

T = TypeVar("T")


class Background(LoopThread):
    """`with Background() as loop: loop.call(coroutine())`. Leaving the block cancels what still runs there."""

    def __init__(self) -> None:
        super().__init__("clew-background")

    def call(self, work: Coroutine[Any, Any, T], timeout: float = 120.0) -> T:
        """Run the coroutine in that thread, and wait for it here, `timeout` seconds at most."""
        return self._begun(work).result(timeout)


class Simulator:
    """A simulator that a test owns. `stance` may be a mapping of switches, as in a stance file."""

    key = "sim-test-key"
    """A key that works."""

    def __init__(
        self,
        *,
        kind: Kind = "anthropic",
        seed: int = 0,
        realm: str = "",
        stance: Stance | Mapping[str, object] | None = None,
        scenario: str = "default",
        journal: Path | None = None,
        judge: Judge | None = None,
    ) -> None:
        chosen = stance if isinstance(stance, Stance) else make_stance(stance)
        self._settings = SimulatorSettings(
            kind=kind, seed=seed, realm=realm, stance=chosen, scenario=scenario, journal=journal
        )
        self._judge = judge
        self._background = Background()
        self._simulation: Simulation | None = None
        self._homes: list[tempfile.TemporaryDirectory[str]] = []

    def __enter__(self) -> Self:
        from clew.simulator.anthropic.judge import judge

        self._background.__enter__()
        self._simulation = self._background.call(start(self._settings, self._judge or judge))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._background.call(self._running.close(grace=0))
        self._background.__exit__(kind, error, trace)
        for each in self._homes:
            each.cleanup()

    @property
    def url(self) -> str:
        """The base URL for a client."""
        return self._running.url

    @property
    def backend(self) -> dict[str, str]:
        """The table of a backend that calls it: `Conversation.open(backends={"claude": simulator.backend})`."""
        kind = self._settings.kind
        if not speaks_chat(kind) and not speaks_responses(kind):
            realm = {"realm": "anthropic"} if kind == "anthropic" and not self._settings.realm else {}
            return {"url": self.url, **realm, "auth": "key", "key": self.key}
        dialect = "openai-chat" if speaks_chat(kind) else "openai-responses"
        vendor = kind.removesuffix("-chat").removesuffix("-responses")
        preset = {"preset": vendor} if vendor in presets() else {}
        return {**preset, "dialect": dialect, "url": f"{self.url}/v1", "key": self.key}

    def home(self, directory: Path | None = None, **others: Simulator) -> Path:
        """A home directory with a config, as `home=` and `CLEW_HOME` want it: this simulator is the active backend `claude`,
        and `others` are beside it.

        Without `directory` it is a new one that is deleted with the simulator.
        """
        if directory is None:
            self._homes.append(made := tempfile.TemporaryDirectory(prefix="clew-test-", ignore_cleanup_errors=True))
            directory = Path(made.name)
        tables = {"claude": self.backend, **{name: each.backend for name, each in others.items()}}
        text = 'active = "claude"\n'
        for name, table in tables.items():
            text += f"\n[backends.{name}]\n" + "".join(f'{key} = "{value}"\n' for key, value in table.items())
        write_private(Home(directory).make().config, text.encode())
        return directory

    def journal(self, since: int = 0) -> list[dict[str, Any]]:
        """What happened, entry by entry, as `GET /_sim/journal` answers it."""
        return msgspec.json.decode(self._on_loop(lambda vendor: entries_json(vendor.journal.since(since))))

    def body(self, n: int) -> bytes:
        """The body of entry n, byte for byte."""
        entry = self._on_loop(lambda vendor: vendor.journal.find(n))
        if entry is None or entry.body is None:
            raise LookupError(f"the journal has no body for entry {n}")
        return entry.body

    def fault(self, fault: str, *, times: int | None = 1, path: str = "", key: str = "") -> None:
        """Let the next requests go wrong: `status 529 retry-after=1`, `cut at=100 how=rst`, …

        `times` None is from now on, until `reset`. With `key` only requests that bring this key.
        """
        spec = parse(fault)
        self._on_loop(lambda vendor: vendor.faults.put(spec, times=times, path=path, key=key))

    def reset(self) -> None:
        """Forget journal, cache, faults in waiting, and which ids were given."""
        self._on_loop(lambda vendor: vendor.reset())

    @property
    def _running(self) -> Simulation:
        if self._simulation is None:
            raise RuntimeError("the simulator runs only inside its `with` block")
        return self._simulation

    def _on_loop(self, work: Callable[[VendorServer], T]) -> T:
        """Call the function in the simulator's own thread, where nothing else touches its state meanwhile."""

        vendor = self._running.vendor

        async def call() -> T:
            return work(vendor)

        return self._background.call(call())
