"""A conversation that does not fit any more: refused, or gone on with from a summary, on a line of its own."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from clew import AsyncConversation, Compacted, Ended
from clew.chat.compaction import is_overflow
from clew.errors import BackendOverloaded, BackendRejected
from clew.testing import Simulator
from tests.chat.conversation.conftest import Opening
from tests.engine.talk import TOOLS, refusals

pytestmark = pytest.mark.slow

SMALL = "claude-sonnet-4-5"
"""Its window has 200 000 tokens."""
LONG = "Remember this, word for word. " * 9_000
COMPACTS = {"model": SMALL, "thinking": None, "tools": (), "on_overflow": "compact"}


def asked(simulator: Simulator) -> list[Any]:
    return [json.loads(simulator.body(entry["n"])) for entry in simulator.journal()]


async def fill(conversation: AsyncConversation) -> None:
    """Nearly to the brim."""
    await conversation.ask(f"One. {LONG}")
    await conversation.ask(f"Two. {LONG}")


def test_a_conversation_that_is_too_long_is_refused_unless_asked_otherwise(opening: Opening) -> None:
    async def talk() -> None:
        async with opening(**{**COMPACTS, "on_overflow": "error"}) as conversation:
            await fill(conversation)
            with pytest.raises(BackendRejected, match=r"prompt is too long: \d+ tokens > 200000 maximum") as raised:
                await conversation.ask(f"Three. {LONG}")
            assert is_overflow(raised.value)
            assert [turn.outcome for turn in conversation.turns] == ["whole", "whole", "refused"]

    asyncio.run(talk())


def test_it_goes_on_from_a_summary_on_a_line_of_its_own(opening: Opening, a: Simulator) -> None:
    """The summary is a turn, the new line begins with it and the question, and the old one is there to go back to."""

    async def talk() -> None:
        async with opening(**COMPACTS) as conversation:
            await fill(conversation)
            before, old = conversation.turns, conversation.messages
            events = [event async for event in conversation.ask(f"Three. {LONG}")]
            compacted = events[0]
            assert isinstance(compacted, Compacted)
            assert isinstance(events[-1], Ended)
            assert (compacted.before.outcome, compacted.before.follows) == ("refused", before[-1].id)
            assert (compacted.summary.outcome, compacted.summary.is_summary) == ("whole", True)
            [turn] = conversation.turns
            assert events[-1].turn == turn
            assert (turn.stands_for, turn.follows, turn.is_summary) == (before[-1].id, "", False)
            summary, question = turn.asked[0]["content"]
            assert compacted.summary.answer.content in summary["text"]
            assert question == {"type": "text", "text": f"Three. {LONG}"}
            await conversation.ask("Four.")
            assert [message["role"] for message in conversation.messages] == ["user", "assistant"] * 2
            conversation.branch(turn.stands_for)
            assert (conversation.turns, conversation.messages) == (before, old)

    asyncio.run(talk())
    assert [verdict.partition(":")[0] for verdict in refusals(a)] == ["prompt is too long"]


def test_a_compaction_is_seen_by_anyone_who_opens_the_conversation_later(opening: Opening) -> None:
    async def begin() -> str:
        async with opening(**COMPACTS) as conversation:
            await fill(conversation)
            await conversation.ask(f"Three. {LONG}")
            return conversation.thread

    async def again(thread: str) -> None:
        async with opening(thread, **COMPACTS) as conversation:
            assert len(conversation.turns) == 1
            assert conversation.turns[0].stands_for
            assert [(turn.outcome, turn.is_summary) for turn in conversation.branches] == [
                ("refused", False),
                ("whole", True),
                ("whole", False),
            ]

    asyncio.run(again(asyncio.run(begin())))


def test_a_question_that_never_fits_is_refused_after_one_try(opening: Opening, a: Simulator) -> None:
    """Neither a first question, nor one that is too long beside the summary too: nothing loops."""

    async def talk() -> None:
        async with opening(**COMPACTS) as conversation:
            with pytest.raises(BackendRejected, match="prompt is too long"):
                await conversation.ask(LONG * 5)
            assert len(a.journal()) == 1
            await conversation.ask("Hello.")
            with pytest.raises(BackendRejected, match="prompt is too long"):
                await conversation.ask(LONG * 5)
            assert len(a.journal()) == 5
            assert conversation.turns[-1].outcome == "refused"

    asyncio.run(talk())


def test_a_summary_that_fails_leaves_the_question_as_refused(opening: Opening, a: Simulator) -> None:
    """The reason that is told is the first one, and another try asks the same question."""

    async def talk() -> None:
        async with opening(**COMPACTS) as conversation:
            await conversation.ask("Hello.")
            a.fault("status 400 message='prompt is too long: 2 tokens > 1 maximum'")
            a.fault("status 529")
            with pytest.raises(BackendRejected, match="prompt is too long"):
                await conversation.ask("And now?")
            assert [(turn.outcome, turn.is_summary) for turn in conversation.turns] == [("whole", False), ("refused", False)]
            await conversation.retry()
            assert [turn.attempts for turn in conversation.turns] == [1, 2]

    asyncio.run(talk())


def test_another_failure_compacts_nothing(opening: Opening, a: Simulator) -> None:
    async def talk() -> None:
        async with opening(**COMPACTS) as conversation:
            await conversation.ask("Hello.")
            a.fault("status 529")
            with pytest.raises(BackendOverloaded):
                await conversation.ask("And now?")
            assert len(a.journal()) == 2

    asyncio.run(talk())


def test_results_that_do_not_fit_any_more_go_on_as_words(opening: Opening, a: Simulator) -> None:
    """The calls that they answer are not in the new line: what the tools gave is said in plain words."""

    async def talk() -> None:
        async with opening(**{**COMPACTS, "tools": TOOLS}) as conversation:
            await conversation.ask("Look. [[scenario:interleaved]]")
            [call] = conversation.calls
            a.fault("status 400 message='prompt is too long: 2 tokens > 1 maximum'")
            await conversation.results({call.id: "127.0.0.1 localhost"})
            _, result = conversation.turns[0].asked[0]["content"]
            assert result == {"type": "text", "text": f"{call.name} with {call.arguments} gave: 127.0.0.1 localhost"}

    asyncio.run(talk())
    assert refusals(a) == []
    for_summary = asked(a)[2]
    assert for_summary["tool_choice"] == {"type": "none"}
    assert [block["type"] for block in for_summary["messages"][-1]["content"]] == ["tool_result", "text"]


def test_anyone_who_can_hold_the_line_writes_the_summary(opening: Opening, a: Simulator, b: Simulator) -> None:
    """A switch to a model with a smaller window: the one that answered last is asked, and the question goes where it was."""

    async def talk() -> None:
        async with opening(**COMPACTS) as conversation:
            await conversation.ask("Hello.")
            conversation.use("deepseek", model="deepseek-chat")
            b.fault("status 400 message='prompt is too long: 2 tokens > 1 maximum'", times=2)
            events = [event async for event in conversation.ask("And now?")]
            assert isinstance(events[0], Compacted)
            assert (events[0].summary.backend, conversation.turns[0].backend) == ("claude", "deepseek")
            assert (conversation.backend, len(conversation.turns)) == ("deepseek", 1)

    asyncio.run(talk())
    assert (len(a.journal()), len(b.journal())) == (2, 3)


def test_if_nobody_can_the_older_half_is_summarised_and_the_rest_goes_in_plain_words(opening: Opening, a: Simulator) -> None:
    async def talk() -> None:
        async with opening(**COMPACTS) as conversation:
            for words in ("One.", "Two.", "Three."):
                await conversation.ask(words)
            a.fault("status 400 message='prompt is too long: 2 tokens > 1 maximum'", times=2)
            await conversation.ask("Four.")
            text = conversation.turns[0].asked[0]["content"][0]["text"]
            assert "The user: Two.\n\nYou: " in text
            assert "The user: Three.\n\nYou: " in text
            assert "The user: One." not in text

    asyncio.run(talk())
    assert [len(body["messages"]) for body in asked(a)[3:]] == [7, 7, 3, 1]


@pytest.mark.parametrize("at", ["the summary", "the question again"])
def test_who_stops_it_while_it_is_compacted_leaves_nothing_under_way(
    at: str, opening: Opening, a: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever was being asked in that moment is left too, and is kept as what it is when `stop` returns."""
    wanted = ["the question", "the summary", "the question again"].index(at)

    async def talk() -> None:
        async with opening(**COMPACTS) as conversation:
            await conversation.ask("One.")
            a.fault("status 400 message='prompt is too long: 2 tokens > 1 maximum'")
            answer, stopping = conversation.ask("Two."), list[asyncio.Task[None]]()
            ask = conversation.service.ask
            count = iter(range(9))

            async def stopped(*question: Any) -> Any:
                if next(count) == wanted:
                    a.fault("stall 30 content=1")
                    stopping.append(asyncio.create_task(answer.stop()))
                    await asyncio.sleep(0)
                return await ask(*question)

            monkeypatch.setattr(conversation.service, "ask", stopped)
            assert [event async for event in answer if not isinstance(event, Compacted)] == []
            await asyncio.wait_for(stopping[0], 120)
            assert "open" not in {spot.outcome for spot in conversation.service.tree}
            assert len(conversation.service.tree) == 2 + wanted
            a.reset()
            await conversation.ask("Three.")

    asyncio.run(asyncio.wait_for(talk(), 120))
