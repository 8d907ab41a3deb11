"""Chaos over three gateways that share one PostgreSQL: any of them gets any request, and now and then one of them is killed.

What holds for one gateway holds for three: nothing is refused, nothing that is due is lost, nothing foreign is sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from clew.simulator.server import stance
from clew.testing import Simulator
from tests.chaos.chaos import Chaos
from tests.chaos.front_chaos import FrontChaos, FrontOracle
from tests.chaos.gate import SharedGate
from tests.chaos.oracle import Found, Oracle
from tests.counts import examples
from tests.identity.front_clients import FRONT_CLIENTS
from tests.numbers import note
from tests.postgres import prepared_url

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

TURNS = examples(12, soak=50)
SEEDS = examples(1, soak=20)
FRONTS = (
    *("chat, returns nothing", "responses, Codex"),
    pytest.param("responses, AI SDK with references", marks=pytest.mark.soak),
)


@pytest.fixture
def makers() -> Iterator[dict[str, Simulator]]:
    """Claude with prefix checks on, and two vendors that speak its dialect."""
    checks = stance({"prefix_enforcement": "on"})
    with ExitStack() as stack:
        started = {
            "claude": Simulator(realm="anthropic", stance=checks),
            "glm": Simulator(kind="compat", realm="glm"),
            "kimi": Simulator(kind="compat", realm="kimi"),
        }
        yield {name: stack.enter_context(each) for name, each in started.items()}


@pytest.fixture
def vendors() -> Iterator[dict[str, Simulator]]:
    """Three makers, each in its own dialect."""
    with ExitStack() as stack:
        started = {
            "claude": Simulator(realm="anthropic", stance=stance({"prefix_enforcement": "on"})),
            "deepseek": Simulator(kind="deepseek-chat"),
            "openai": Simulator(kind="openai-responses"),
        }
        yield {name: stack.enter_context(each) for name, each in started.items()}


def test_clients_like_claude_code_lose_nothing_between_three_gateways(makers: dict[str, Simulator], tmp_path: Path) -> None:
    for seed in range(SEEDS):
        for each in makers.values():
            each.reset()
        with SharedGate(tmp_path / f"fleet-{seed}", makers, prepared_url(), seed) as gate:
            run = Chaos(gate, Oracle(makers), list(makers), seed)
            run.run(TURNS // 2)
            gate.restart()  # one for certain
            run.run(TURNS)
        assert run.oracle.found == Found(), f"seed {seed}: {run.done[-30:]}"
        assert len(gate.shares) >= 3, "every gateway had its part"
        note("three gateways: turns like Claude Code's", run.turns)
        note("three gateways: blocks due, like Claude Code's", run.oracle.due)
        note("three gateways: killed", gate.deaths)


@pytest.mark.parametrize("client", FRONTS)
def test_clients_of_other_fronts_lose_nothing_between_three_gateways(
    vendors: dict[str, Simulator], client: str, tmp_path: Path
) -> None:
    for seed in range(SEEDS):
        for each in vendors.values():
            each.reset()
        with SharedGate(tmp_path / f"fleet-{seed}", vendors, prepared_url(), seed) as gate:
            run = FrontChaos(gate, FrontOracle(vendors), FRONT_CLIENTS[client], seed)
            run.run(TURNS // 2)
            gate.restart()
            run.run(TURNS)
        assert run.oracle.found == Found(), f"seed {seed}: {run.done[-30:]}"
        note(f"three gateways: turns, {client}", run.turns)
        note(f"three gateways: thoughts due, {client}", run.oracle.due)
        note("three gateways: killed", gate.deaths)
