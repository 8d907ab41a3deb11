"""The founding document's conversation, held by the library: three turns with tools, in every mode of thinking."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest

from clew import AsyncConversation, Turn, extract_thinking_blocks, thinking_report, thinking_tokens
from clew.testing import Simulator
from tests.build import Json
from tests.chat.conversation.conftest import Opening
from tests.engine.talk import refusals, thoughts
from tests.manifest import proves, public

pytestmark = pytest.mark.slow

MANUAL = {"type": "enabled", "budget_tokens": 2000}
ADAPTIVE = {"type": "adaptive", "display": "summarized"}
MODES: dict[str, tuple[str, str, Json]] = {
    "manual": ("claude-haiku-4-5", "loop", MANUAL),
    "interleaved": ("claude-sonnet-4-5", "interleaved", MANUAL),
    "adaptive": ("claude-opus-5-5", "interleaved", ADAPTIVE),
    "hidden": ("claude-opus-5-5", "loop", {"type": "adaptive", "display": "omitted"}),
    "redacted": ("claude-sonnet-5-5", "redacted", ADAPTIVE),
}


async def says(conversation: AsyncConversation, words: str) -> None:
    """A question, and whatever tools it takes."""
    await conversation.ask(words)
    while conversation.calls:
        await conversation.results({call.id: f"what {call.id} gave" for call in conversation.calls})


def bodies(simulator: Simulator) -> list[Any]:
    return [json.loads(simulator.body(entry["n"])) for entry in simulator.journal()]


@public("library", "gateway")
@proves("req:S2-40", "req:S2-41")
@pytest.mark.parametrize(("model", "scenario", "thinking"), MODES.values(), ids=MODES)
def test_three_turns_with_tools(opening: Opening, a: Simulator, model: str, scenario: str, thinking: Json) -> None:
    """S2-40: nothing is refused, and every block that the model made goes back to it as it came, each time."""

    async def talk() -> tuple[list[Any], list[Turn]]:
        async with opening(model=model, thinking=thinking) as conversation:
            for number in range(3):
                await says(conversation, f"Look, {number}. [[scenario:{scenario}]]")
            return conversation.messages, conversation.turns

    messages, turns = asyncio.run(talk())
    assert refusals(a) == []
    assert len(turns) >= 6
    made = thoughts(messages)
    assert len(made) >= 3
    last = thoughts(bodies(a)[-1]["messages"])
    assert last == made[: len(last)]
    assert len(last) == len(thoughts(messages[:-1]))
    assert [reported(turn) for turn in turns] == [bool(thoughts([{"content": content(turn)}])) for turn in turns]


def content(turn: Turn) -> Any:
    assert turn.answer is not None
    return turn.answer.raw_content


def reported(turn: Turn) -> bool:
    """Whether there are thoughts to show, with a count of tokens that the vendor gave."""
    assert turn.answer is not None
    shown = thinking_report(thinking_tokens(turn.answer), extract_thinking_blocks(content(turn)))
    return bool(shown) and re.fullmatch(r"📊 Thinking Metrics: \d+ tokens used for reasoning", shown[-1]) is not None


@public("library", "gateway")
@proves("req:S2-41", "req:S2-39")
def test_what_is_not_reported_is_estimated_and_marked_so(opening: Opening, a: Simulator) -> None:
    """S2-41: a vendor that counts nothing is none the worse for it."""

    async def talk() -> list[Turn]:
        async with opening() as conversation:
            a.fault("no-usage", times=None)
            await says(conversation, "Look. [[scenario:interleaved]]")
            return conversation.turns

    first = asyncio.run(talk())[0]
    assert first.answer is not None
    assert str(thinking_tokens(first.answer)).startswith("≈")
    assert not reported(first)
    assert refusals(a) == []
