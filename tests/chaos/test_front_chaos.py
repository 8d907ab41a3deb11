"""Chaos by clients of other fronts: nothing is refused, nothing that the dialect or the store can carry is lost, nothing foreign."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from clew.simulator.server import stance
from clew.testing import Simulator
from tests.chaos.front_chaos import FrontChaos, FrontOracle
from tests.chaos.gate import Gate
from tests.chaos.oracle import Found
from tests.counts import examples
from tests.identity.front_clients import FRONT_CLIENTS
from tests.numbers import note

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

TURNS = 50
SEEDS = examples(1, soak=100)
BATCH = 10
CLIENTS = (
    *("chat, returns nothing", "chat, returns details without texts", "responses, Codex", "responses, opencode"),
    *("responses, AI SDK", "responses, AI SDK with references"),
)


@pytest.fixture(params=["sent", "read"])
def reading(request: pytest.FixtureRequest) -> str:
    """Of what precedes a block: what was sent, or what its model could read."""
    return request.param


@pytest.fixture
def simulators(reading: str) -> Iterator[dict[str, Simulator]]:
    """Claude with prefix checks on, OpenAI, and DeepSeek."""
    checks = stance({"prefix_enforcement": "on", "predecessor": reading})
    with ExitStack() as stack:
        started = {
            "claude": Simulator(realm="anthropic", stance=checks),
            "deepseek": Simulator(kind="deepseek-chat"),
            "openai": Simulator(kind="openai-responses"),
        }
        yield {name: stack.enter_context(each) for name, each in started.items()}


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("batch", range(0, SEEDS, BATCH))
def test_fifty_turns_of_chaos_on_another_front_cost_nothing(
    simulators: dict[str, Simulator], reading: str, client: str, batch: int, tmp_path: Path
) -> None:
    """Must be seen: zero refusals, zero thoughts lost, zero foreign ones sent.

    Nothing has to be healed, but for one thing: a client that sends the thoughts of two models of Claude's, where what
    precedes a block is what its model could read. Then Claude refuses now and then, and the client does not see it.
    """
    for seed in range(batch, min(batch + BATCH, SEEDS)):
        for each in simulators.values():
            each.reset()
        with Gate(tmp_path / f"home-{seed}", simulators) as gate:
            may_heal = reading == "read" and client != "chat, returns nothing"
            run = FrontChaos(gate, FrontOracle(simulators, may_heal), FRONT_CLIENTS[client], seed)
            run.run(TURNS)
        assert run.oracle.found == Found(), f"seed {seed}: {run.done[-30:]}"
        assert run.turns >= TURNS
        note(f"chaos: turns, {client}", run.turns)
        note(f"chaos: thoughts due, {client}", run.oracle.due)
        note(f"chaos: thoughts of answers that nothing tells apart, {client}", run.oracle.alike)
        note(f"chaos: healed, {client}, reading {reading}", run.oracle.healed)


def test_the_oracle_sees_what_a_gateway_without_restoring_loses(simulators: dict[str, Simulator], tmp_path: Path) -> None:
    """A client that returns nothing has only the store. One of the first four runs is enough."""
    for seed in range(4):
        with Gate(tmp_path / f"home-{seed}", simulators, "\n[thinking]\nrestore = false\n") as gate:
            run = FrontChaos(gate, FrontOracle(simulators), FRONT_CLIENTS["chat, returns nothing"], seed)
            run.run(TURNS)
        if run.oracle.found.lost:
            return
    pytest.fail("nothing was lost, or nobody saw it")
