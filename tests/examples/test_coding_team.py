"""The coding team, as it stands: three agents with tools, approval and visible thinking, and no request is refused."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clew import Denied
from clew.testing import Simulator
from tests.manifest import proves, public

pytestmark = pytest.mark.slow

FILE = Path(__file__).parents[2] / "examples/coding_team/team.py"
NAMES = ("lead", "coder", "reviewer")


@pytest.fixture(scope="module")
def module() -> Any:
    spec = importlib.util.spec_from_file_location("coding_team", FILE)
    assert spec and spec.loader
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@pytest.fixture
def models(module: Any) -> Iterator[dict[str, Simulator]]:
    """The demo's scripts, on simulators that the test can look into."""
    with (
        Simulator(scenario=str(module.DEMO / "lead.scenario")) as lead,
        Simulator(scenario=str(module.DEMO / "coder.scenario")) as coder,
        Simulator(scenario=str(module.DEMO / "reviewer.scenario")) as reviewer,
    ):
        yield {"lead": lead, "coder": coder, "reviewer": reviewer}


class Decisions:
    """Notes what was asked, and what was there then."""

    def __init__(self, root: Path, decision: Any) -> None:
        self._root = root
        self._decision = decision
        self.asked: list[tuple[str, bool]] = []

    def __call__(self, call: Any, tool: object) -> Any:
        path = json.loads(call.arguments)["path"]
        self.asked.append((path, (self._root / path).exists()))
        return self._decision


def work(module: Any, models: dict[str, Simulator], root: Path, home: Path, **more: Any) -> str:
    root.mkdir()
    home.mkdir(mode=0o700)
    team = module.coding_team(root, backends={name: name for name in NAMES}, **more)
    backends = {name: simulator.backend for name, simulator in models.items()}
    return module.run(team, module.DEMO_PROMPTS, home=home, environ={}, backends=backends)


def thoughts_in(messages: list[Any]) -> list[Any]:
    blocks = [block for each in messages if each["role"] == "assistant" for block in each["content"]]
    return [block for block in blocks if block["type"] in ("thinking", "redacted_thinking")]


@public("library")
@proves("req:S2-40", "req:S2-8", "req:S2-11", "req:S2-25")
@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-sonnet-4-5"], ids=["adaptive", "interleaved"])
def test_the_team_writes_reviews_and_shows_what_it_thinks(
    module: Any, models: dict[str, Simulator], tmp_path: Path, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Document 002's own verification: no "Expected thinking" error, thinking on the screen, several turns."""
    root = tmp_path / "project"
    approve = Decisions(root, True)
    output = work(module, models, root, tmp_path / "h", model=model, approve=approve)
    assert output.endswith("It is right, also for 0: the loop does not run then.")
    assert "range(2, n + 1)" in (root / "factorial.py").read_text()
    assert approve.asked[:2] == [("factorial.py", False), ("test_factorial.py", False)]

    assert {entry["response"]["status"] for simulator in models.values() for entry in simulator.journal()} == {200}
    lead = json.loads(models["lead"].body(models["lead"].journal()[-1]["n"]))["messages"]
    assert len(thoughts_in(lead)) == 5
    assert all(block["signature"] for block in thoughts_in(lead))
    coder = json.loads(models["coder"].body(models["coder"].journal()[-1]["n"]))["messages"]
    assert [message["role"] for message in coder] == ["user", "assistant"] * 3 + ["user"]

    shown = capsys.readouterr().out
    for line in (
        "[lead] 🧠 Agent Thinking:\nThe coder writes it, and somebody else reads it.\n[lead] 📊 Thinking Metrics:",
        "[coder] 🧠 Agent Thinking:\n🔒 [REDACTED - Content encrypted for safety]\n\nThe tests said",
        "[coder] ✓ run_tests: OK",
        "[reviewer] 🧠 Agent Thinking:\nThe code itself, not what the coder said of it.",
    ):
        assert line in shown


@public("library")
def test_a_file_that_the_user_does_not_want_is_not_written_and_the_coder_reads_why(
    module: Any, models: dict[str, Simulator], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "project"
    work(module, models, root, tmp_path / "h", approve=Decisions(root, Denied("use math.factorial")))
    assert list(root.iterdir()) == []
    told = json.loads(models["coder"].body(models["coder"].journal()[2]["n"]))["messages"][-1]["content"]
    assert [("use math.factorial" in block["content"], block["is_error"]) for block in told] == [(True, True)] * 2
    assert "[coder] ✋ write_file: use math.factorial" in capsys.readouterr().out


def test_the_tools_stay_inside_the_project(module: Any, tmp_path: Path) -> None:
    workspace = module.Workspace(tmp_path)
    for path in ("../other.py", "/etc/passwd"):
        with pytest.raises(module.ToolFailed, match="outside of the project"):
            workspace.read_file(path)
        with pytest.raises(module.ToolFailed, match="outside of the project"):
            workspace.write_file(path, "")


@public("cli")
@proves("req:S2-40")
@pytest.mark.parametrize(("given", "written"), [("y\n" * 4, True), ("", False)], ids=["yes", "nobody-there"])
def test_the_demo_runs_without_a_key_and_asks_before_it_writes(tmp_path: Path, given: str, written: bool) -> None:
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    command = [sys.executable, str(FILE), "--demo", "--in", str(tmp_path / "project")]
    (tmp_path / "project").mkdir()
    done = subprocess.run(command, input=given, env=environ, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Run it? [y/N, or why not]" in done.stdout and "🧠 Agent Thinking:" in done.stdout
    assert (tmp_path / "project/factorial.py").exists() == written


def test_without_anything_to_do_it_says_what_to_say() -> None:
    done = subprocess.run([sys.executable, str(FILE)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "say what the team is to do, or --demo" in done.stderr
