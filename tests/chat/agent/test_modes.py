"""An agent in every mode of thinking: three questions with tools each, and no block that does not come back as it was given."""

from __future__ import annotations

from typing import Any

import pytest

from clew import Agent, extract_thinking_blocks
from clew.testing import Simulator
from tests.chat.agent.conftest import SetUp
from tests.chat.test_conversation import MODES
from tests.engine.talk import refusals
from tests.manifest import proves, public

pytestmark = pytest.mark.slow


def look(place: str) -> str:
    """Looks at a place."""
    return f"dust on {place}"


@public("library")
@proves("req:S2-40", "req:S2-41")
@pytest.mark.parametrize("told", [True, False], ids=["counted", "not counted"])
@pytest.mark.parametrize(("model", "scenario", "thinking"), MODES.values(), ids=MODES)
def test_three_questions_with_tools(stage: SetUp, model: str, scenario: str, thinking: Any, told: bool) -> None:
    """S2-40, S2-41: the document's conversation, by an agent, also where no usage is reported."""
    on = stage()
    if not told:
        on.claude.fault("no-usage", times=None)
    with Agent(model=model, thinking=thinking, tools=[look], max_tokens=9000).open(**on.place) as agent:
        results = [agent.run(f"[[scenario:{scenario}]] question {number}") for number in range(3)]
        answers = [turn.answer for turn in agent.conversation.turns if turn.answer]
    assert [result.ending for result in results] == ["answered"] * 3
    assert len(answers) == sum(result.steps for result in results) >= 6
    assert refusals(on.claude) == []
    thoughts = [block for answer in answers[:-1] for block in extract_thinking_blocks(answer.raw_content)]
    assert returned(on.claude) == ["own"] * len(thoughts) != []
    assert all((result.usage.output > 0) == told for result in results)


def returned(simulator: Simulator) -> list[str]:
    """Whose the thinking is that came with the last request."""
    return [block["whose"] for block in simulator.journal()[-1]["thinking"]]
