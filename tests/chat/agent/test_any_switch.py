"""Any switches at any steps: an agent comes to the same answer on whatever backends it was, and none of them refuses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew import Agent, StepFinished
from clew.testing import Simulator
from tests.chat.agent.conftest import SHOWN
from tests.counts import examples
from tests.engine.talk import refusals
from tests.manifest import proves, public

pytestmark = pytest.mark.slow

STEPS = 10
SCRIPT = "".join(
    f'turn:\n  think: Step {step}.\n  call: add {{"number": {step}}}\n' + ("  call: total\n" if step % 3 == 0 else "")
    for step in range(1, STEPS)
)
KINDS: dict[str, tuple[dict[str, Any], str, str]] = {
    "claude": ({"stance": {"prefix_enforcement": "on"}}, 'preset = "anthropic"\nurl = "{url}"', "claude-opus-5-5"),
    "sonnet": ({"stance": {"prefix_enforcement": "on"}}, 'preset = "anthropic"\nurl = "{url}"', "claude-sonnet-5-5"),
    "deepseek": (
        {"kind": "deepseek-chat", "realm": "deepseek"},
        'preset = "deepseek"\ndialect = "openai-chat"\nurl = "{url}/v1"',
        "deepseek-reasoner",
    ),
    "zai": ({"kind": "zai", "realm": "zai"}, 'preset = "zai"\nurl = "{url}"', "glm-5.2"),
    "kimi": ({"kind": "kimi", "realm": "kimi"}, 'preset = "kimi"\nurl = "{url}"', "kimi-k3"),
    "minimax": ({"kind": "minimax", "realm": "minimax"}, 'preset = "minimax"\nurl = "{url}"', "MiniMax-M3"),
}


class House:
    """All of them at once, and a home that knows them."""

    def __init__(self, home: Path, simulators: dict[str, Simulator]) -> None:
        self.home = home
        self.simulators = simulators


@pytest.fixture(scope="module")
def house() -> Iterator[House]:
    with ExitStack() as stack:
        home = Path(stack.enter_context(TemporaryDirectory()))
        (home / "script.scenario").write_text(SCRIPT + "turn:\n  text: The sum is {{result}}.\n")
        lines, simulators = ['active = "claude"', "[retry]", "retries = 0"], dict[str, Simulator]()
        for name, (kind, row, _) in KINDS.items():
            simulator = stack.enter_context(Simulator(**kind, scenario=str(home / "script.scenario")))
            simulators[name] = simulator
            lines += [f"[backends.{name}]", row.format(url=simulator.url), f'key = "{simulator.key}"']
        (home / "clew.toml").write_text("\n".join(lines))
        yield House(home, simulators)


@public("library")
@proves("req:C17")
@settings(max_examples=examples(4), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(switches=st.dictionaries(st.integers(1, STEPS - 1), st.sampled_from([*KINDS]), max_size=STEPS))
def test_the_answer_is_the_same_whatever_the_switches(house: House, switches: dict[int, str]) -> None:
    """C17: in the middle of one tool loop; thinking that comes back is its maker's own, or nobody's."""
    for simulator in house.simulators.values():
        simulator.reset()
    numbers: list[int] = []

    def add(number: int) -> int:
        """Adds a number, and tells the sum."""
        numbers.append(number)
        return sum(numbers)

    def total() -> int:
        """The sum."""
        return sum(numbers)

    agent = Agent(model=KINDS["claude"][2], thinking=SHOWN, tools=[add, total])
    with agent.open(home=house.home, environ={}) as opened:

        def listen(event: object) -> None:
            if isinstance(event, StepFinished) and event.step in switches:
                name = switches[event.step]
                opened.conversation.use(name, model=KINDS[name][2])

        result = opened.run("Add.", listen=listen)
    assert (result.ending, result.steps, numbers) == ("answered", STEPS, [*range(1, STEPS)])
    last = sum(numbers)
    assert result.output == f"The sum is {last}\n{last}."
    assert {name: refusals(simulator) for name, simulator in house.simulators.items()} == {name: [] for name in KINDS}
    for name, simulator in house.simulators.items():
        came = {each["whose"] for entry in simulator.journal() for each in entry["thinking"]}
        assert came <= NOBODYS.get(name, {"own"}), name


NOBODYS = {"deepseek": {"own", "placeholder"}, "kimi": {"own", "unknown"}}
"""Who wants something for each answer gets the blank that it documents, where there is nothing of its own."""
