"""An agent with three tools, forty steps long, while the backend is switched five times among three realms."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clew import Agent, StepFinished, StepStarted
from clew.testing import Simulator
from tests.chat.agent.conftest import MODELS, SHOWN, SetUp, Stage
from tests.engine.talk import refusals
from tests.manifest import proves, public

pytestmark = pytest.mark.slow

STEPS = 40
SWITCHES = {7: "deepseek", 14: "minimax", 21: "claude", 28: "deepseek", 35: "claude"}
"""After which step, and to whom."""


def script() -> str:
    """Thirty-nine answers with calls, every fifth of them with two at once, and then the sum."""
    turns = [f"turn:\n  think: Step {step} of forty.\n" + calls(step) for step in range(1, STEPS)]
    return "\n".join([*turns, "turn:\n  think: That is all.\n  text: The sum is {{result}}."])


def calls(step: int) -> str:
    if step == STEPS - 1:
        return '  call: total {"after": 0}\n'
    add = f'  call: add {{"number": {step}}}\n'
    look = f'  call: look {{"place": {{"shelf": "s{step}", "row": {step}}}}}\n'
    return add + look if step % 5 == 0 else look if step % 3 == 0 else add


class Shelf:
    """Three tools that remember what they did."""

    def __init__(self) -> None:
        self.numbers: list[int] = []

    def add(self, number: int) -> str:
        """Adds a number to the sum.

        Args:
            number: What to add.
        """
        self.numbers.append(number)
        return f"added {number}"

    async def look(self, place: dict[str, str | int]) -> dict[str, object]:
        """Looks at a place."""
        return {"seen": place["shelf"], "row": place["row"]}

    def total(self, after: float = 0.0) -> int:
        """The sum of all numbers that are larger."""
        return sum(number for number in self.numbers if number > after)


def run(stage: Stage, switches: dict[int, str]) -> tuple[Any, list[str], list[dict[str, Any]], list[Any]]:
    """The result, who answered each step, the messages, and the turns."""
    shelf, asked = Shelf(), list[str]()
    plan: Any = {"model": MODELS["claude"], "thinking": SHOWN, "tools": [shelf.add, shelf.look, shelf.total]}
    with Agent(**plan).open(**stage.place) as agent:

        def listen(event: object) -> None:
            if isinstance(event, StepStarted):
                asked.append(event.backend)
            if isinstance(event, StepFinished) and event.step in switches:
                backend = switches[event.step]
                agent.conversation.use(backend, model=MODELS[backend])

        result = agent.run("Count.", listen=listen)
        return result, asked, agent.conversation.messages, agent.conversation.turns


@public("library")
@proves("req:C17")
def test_forty_steps_on_three_realms_come_to_the_same_answer(stage: SetUp) -> None:
    """C17: same answer as without a switch, no rejection anywhere, and every maker has its own thinking back."""
    on = stage(script(), "claude", "deepseek", "minimax")
    still, *_ = run(on, {})
    for simulator in on.backends.values():
        simulator.reset()
    moved, asked, messages, turns = run(on, SWITCHES)
    assert (still.ending, moved.ending) == ("answered", "answered")
    assert moved.output == still.output == f"The sum is {sum(added())}."
    assert moved.steps == still.steps == STEPS
    assert asked == [who(step) for step in range(1, STEPS + 1)] == [turn.backend for turn in turns]
    assert [refusals(simulator) for simulator in on.backends.values()] == [[], [], []]
    assert {turn.outcome for turn in turns} == {"whole"}
    assert [change for turn in turns for change in turn.changes if change.what == "healed"] == []
    for name, simulator in on.backends.items():
        assert restored(simulator) == {"own": made_by(name, before=last_step(name)), "other": 0}
    assert claude_got(on.claude) == [thoughts(messages[2 * step - 1]) for step in claude_steps()[:-1]]


def added() -> list[int]:
    return [step for step in range(1, STEPS - 1) if step % 5 == 0 or step % 3 != 0]


def who(step: int) -> str:
    return next((name for after, name in reversed(SWITCHES.items()) if after < step), "claude")


def last_step(name: str) -> int:
    return max(step for step in range(1, STEPS + 1) if who(step) == name)


def made_by(name: str, before: int) -> int:
    """Each answer has one thought."""
    return sum(who(step) == name for step in range(1, before))


def claude_steps() -> list[int]:
    return [step for step in range(1, STEPS + 1) if who(step) == "claude"]


def restored(simulator: Simulator) -> dict[str, int]:
    """The thoughts in the last request: how many are the maker's own, and how many another's. Where a vendor wants something
    for each answer, the constant that it documents is nobody's."""
    thoughts = [each["whose"] for each in simulator.journal()[-1]["thinking"] if each["whose"] != "placeholder"]
    return {"own": thoughts.count("own"), "other": len(thoughts) - thoughts.count("own")}


def claude_got(simulator: Simulator) -> list[Any]:
    """The thinking of each answer of its own in the last request, byte for byte."""
    sent = json.loads(simulator.body(simulator.journal()[-1]["n"]))["messages"]
    found = [thoughts(message) for message in sent if message["role"] == "assistant"]
    return [each for each in found if each]


def thoughts(message: Any) -> list[Any]:
    return [block for block in message["content"] if block["type"] == "thinking"]
