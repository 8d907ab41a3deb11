"""Agents in a home of their own, on simulated backends of three realms that play a script."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clew.testing import Simulator
from clew.testing.plugin import StartSimulator
from tests.engine.talk import MODEL

STRICT = {"prefix_enforcement": "on"}
SHOWN = {"type": "adaptive", "display": "summarized"}
MODELS = {"claude": MODEL, "deepseek": "deepseek-reasoner", "minimax": "MiniMax-M3"}


class Stage:
    """Backends that play a script, and a home that knows them."""

    def __init__(self, home: Path, backends: dict[str, Simulator]) -> None:
        self.home = home
        self.backends = backends

    @property
    def claude(self) -> Simulator:
        return self.backends["claude"]

    @property
    def place(self) -> Any:
        """Where agents open their conversations."""
        return {"home": self.home, "environ": {}}


SetUp = Callable[..., Stage]


@pytest.fixture
def stage(tmp_path: Path, simulators: StartSimulator) -> SetUp:
    """`stage(script)`: Claude alone; `stage(script, "claude", "deepseek", "minimax")`: more of them, the first one active."""
    kinds: dict[str, Any] = {
        "claude": {"stance": STRICT},
        "deepseek": {"kind": "deepseek-chat", "realm": "deepseek"},
        "minimax": {"kind": "minimax", "realm": "minimax"},
        "own": {"kind": "compat", "realm": "own"},
    }
    rows = {
        "claude": 'preset = "anthropic"\nurl = "{url}"',
        "deepseek": 'preset = "deepseek"\ndialect = "openai-chat"\nurl = "{url}/v1"',
        "minimax": 'preset = "minimax"\nurl = "{url}"',
        "own": 'url = "{url}"',
    }

    def set_up(script: str = "", *names: str) -> Stage:
        file = tmp_path / "script.scenario"
        file.write_text(script)
        scenario = {"scenario": str(file)} if script else {}
        backends = {name: simulators(**kinds[name], **scenario) for name in names or ("claude",)}
        lines = [f'active = "{next(iter(backends))}"', "[retry]", "retries = 0", "cool_seconds = 0.01"]
        for name, simulator in backends.items():
            lines += [f"[backends.{name}]", rows[name].format(url=simulator.url), f'key = "{simulator.key}"']
        (tmp_path / "clew.toml").write_text("\n".join(lines))
        tmp_path.chmod(0o700)
        return Stage(tmp_path, backends)

    return set_up
