"""`clew.testing`: fixtures that start simulators, and the same without pytest."""

import subprocess
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import clew.testing
from clew import Conversation
from clew.testing.plugin import StartSimulator
from clew.testing.simulator import Background
from tests.simulator.standin import judge
from tests.simulator.wire import ask


def test_the_fixture_is_a_fresh_simulator(simulator: clew.testing.Simulator) -> None:
    assert simulator.journal() == []
    assert ask(simulator.url).status == 200
    assert [entry["verdict"] for entry in simulator.journal()] == [{"ok": True}]


def test_it_is_fresh_again_in_the_next_test(simulator: clew.testing.Simulator) -> None:
    assert simulator.journal() == []


def test_the_factory_starts_as_many_as_are_needed(simulators: StartSimulator) -> None:
    one = simulators(seed=1, scenario="text")
    two = simulators(kind="compat", stance={"both_credentials": "reject"})
    assert one.url != two.url
    assert ask(one.url).json["content"] == [{"type": "text", "text": "Hello. This is a plain answer."}]
    assert ask(two.url, model="qwen3-32b").status == 200
    assert ask(two.url, headers={"authorization": "Bearer x"}).status == 401
    assert (len(one.journal()), len(two.journal())) == (1, 2)


def test_faults_and_resets_need_no_http(simulators: StartSimulator) -> None:
    sim = simulators(judge=judge)
    sim.fault("status 500", times=2)
    assert ask(sim.url).status == 500
    sim.reset()
    assert (sim.journal(), ask(sim.url).status) == ([], 200)


@pytest.mark.parametrize("kind", ["anthropic", "compat", "deepseek-chat", "openrouter", "tags"])
def test_a_home_names_simulators_of_every_kind(kind: str, simulators: StartSimulator, tmp_path: Path) -> None:
    other = simulators(kind=kind)
    home = simulators().home(tmp_path / "home", other=other)
    with Conversation.open(home=home, environ={}, model="claude-opus-5-5") as conversation:
        conversation.use("other", model="" if kind in ("anthropic", "compat") else "deepseek-v4-pro")
        assert conversation.ask("Hello!").message().role == "assistant"
    assert len(other.journal()) == 1


def test_a_home_without_a_directory_goes_with_the_simulator() -> None:
    with clew.testing.Simulator() as sim:
        home = sim.home()
        assert (home / "clew.toml").stat().st_mode & 0o777 == 0o600
    assert not home.exists()


def test_it_ends_with_its_block_and_leaves_no_thread() -> None:
    before = set(threading.enumerate())  # others' fixtures may last longer than a test
    with clew.testing.Simulator(judge=judge) as sim:
        url = sim.url
        assert ask(url).status == 200
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(url, timeout=120)
    assert not [thread for thread in threading.enumerate() if thread.name == "clew-background" and thread not in before]
    with pytest.raises(RuntimeError, match="runs only inside its `with` block"):
        _ = clew.testing.Simulator(judge=judge).url


def test_the_background_gives_back_results_and_raises_errors() -> None:
    async def value() -> int:
        return 7

    async def failure() -> None:
        raise LookupError("not there")

    with Background() as loop:
        assert loop.call(value()) == 7
        with pytest.raises(LookupError, match="not there"):
            loop.call(failure())


def test_there_is_nothing_else_in_the_package() -> None:
    assert clew.testing.__all__ == ["Simulator"]
    with pytest.raises(AttributeError, match="has no attribute 'Gateway'"):
        getattr(clew.testing, "Gateway")  # noqa: B009 - the name is not there, which is the point


@pytest.mark.slow
def test_pytest_finds_the_fixtures_by_itself(tmp_path: Path) -> None:
    """Through the entry point, in a project that only has clew installed."""
    (tmp_path / "test_mine.py").write_text(
        "import urllib.request\n"
        "def test_it(simulator):\n"
        "    assert urllib.request.urlopen(simulator.url + '/api/hello', timeout=120).status == 200\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert "1 passed" in done.stdout
