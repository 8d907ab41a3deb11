"""Fifty turns of chaos through the gateway: nothing is refused, nothing valid is lost, nothing foreign is sent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from clew.simulator.server import stance
from clew.testing import Simulator
from tests.chaos.chaos import Chaos
from tests.chaos.gate import Gate, ProcessGate, Straight, Way
from tests.chaos.oracle import Found, Oracle
from tests.counts import examples
from tests.numbers import note

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

SEEDS = examples(4, soak=200)
TURNS = 50
BATCH = 10
"""Seeds in one test: the simulators and the port are the expensive part."""


@pytest.fixture(params=["sent", "read"])
def simulators(request: pytest.FixtureRequest) -> Iterator[dict[str, Simulator]]:
    """Three realms; Claude's with prefix checks on, in either reading of what precedes a block."""
    checks = stance({"prefix_enforcement": "on", "predecessor": request.param})
    with ExitStack() as stack:
        started = {
            "claude": Simulator(realm="anthropic", stance=checks),
            "glm": Simulator(kind="compat", realm="glm"),
            "kimi": Simulator(kind="compat", realm="kimi"),
        }
        yield {name: stack.enter_context(each) for name, each in started.items()}


def chaos(simulators: dict[str, Simulator], way: Way, seed: int, escapes: float = 0.0) -> Chaos:
    for each in simulators.values():
        each.reset()
    run = Chaos(way, Oracle(simulators), list(simulators), seed, escapes)
    run.run(TURNS)
    return run


@pytest.mark.parametrize("batch", range(0, SEEDS // 2, BATCH))
def test_fifty_turns_of_chaos_cost_nothing(simulators: dict[str, Simulator], batch: int, tmp_path: Path) -> None:
    """Must be seen: zero 400s to the client, zero valid blocks lost, zero foreign blocks sent. Nothing had to be healed."""
    for seed in range(batch, min(batch + BATCH, SEEDS // 2)):
        with Gate(tmp_path / f"home-{seed}", simulators) as gate:
            run = chaos(simulators, gate, seed)
        assert run.oracle.found == Found(), f"seed {seed}: {run.done[-30:]}"
        assert run.turns >= TURNS
        note("chaos: turns", run.turns)
        note("chaos: blocks due", run.oracle.due)


@pytest.mark.parametrize("batch", range(0, SEEDS // 4, BATCH))
def test_a_client_that_stops_answers_keeps_what_it_saw_of_them(
    simulators: dict[str, Simulator], batch: int, tmp_path: Path
) -> None:
    """Esc in mid-answer: the client has its beginning, the store has more of it, and the beginning goes back.

    A known limit is left out: half an answer whose thinking the client hides as well (after a switch of the model) says
    less than its recording and proves nothing, so nobody can tell whose it is.
    """
    for seed in range(batch, min(batch + BATCH, SEEDS // 4)):
        with Gate(tmp_path / f"home-{seed}", simulators) as gate:
            run = chaos(simulators, gate, 24 + seed, escapes=0.15)
        found = run.oracle.found
        lost = [each for each in found.lost if each.startswith("claude")]
        assert (found.refused, found.foreign, found.upstream, lost) == ([], [], [], []), (
            f"seed {24 + seed}: {run.done[-30:]}"
        )
        note("chaos: turns of a client that stops", run.turns)


@pytest.mark.parametrize("seed", range(examples(1, soak=10)))
def test_a_gateway_that_is_killed_again_and_again_has_all_that_it_acknowledged(
    simulators: dict[str, Simulator], seed: int, tmp_path: Path
) -> None:
    """The same with `clew serve` as a process, and `kill -9` for a restart."""
    with ProcessGate(tmp_path / "home", simulators) as gate:
        run = chaos(simulators, gate, 1003 + seed)
    assert run.oracle.found == Found(), run.done[-30:]
    assert seed or "restart" in run.done  # the first seed has one for certain; not every other does


@pytest.mark.parametrize("setting", ['policy = "strip"', 'policy = "session"', "restore = false"])
def test_the_oracle_sees_what_other_policies_lose(simulators: dict[str, Simulator], setting: str, tmp_path: Path) -> None:
    """One of the first four runs is enough."""
    for seed in range(4):
        with Gate(tmp_path / f"home-{seed}", simulators, f"\n[thinking]\n{setting}\n") as gate:
            if chaos(simulators, gate, seed).oracle.found.lost:
                return
    pytest.fail("nothing was lost, or nobody saw it")


def test_the_chaos_itself_is_legal_and_its_oracle_awake(simulators: dict[str, Simulator]) -> None:
    """Without a gateway, against one simulator: nothing is refused; what the client drops is lost."""
    runs = [chaos(simulators, Straight(simulators["claude"]), seed) for seed in range(6)]

    assert [run.oracle.found.refused for run in runs] == [[]] * 6
    assert any(run.oracle.found.lost for run in runs)
