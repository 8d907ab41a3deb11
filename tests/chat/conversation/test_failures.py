"""Whatever goes wrong after the save, at every step: what was said stays, is marked, and can be asked again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from clew import AsyncConversation, ClewError, TextDelta, ThinkingDelta, ToolCall
from clew.errors import (
    BackendBroken,
    BackendError,
    BackendOverloaded,
    BackendRejected,
    BackendTimedOut,
    RequestInvalid,
    StoreError,
    Unrepresentable,
)
from clew.testing import Simulator
from tests.chat.conversation.conftest import Opening
from tests.manifest import proves, public
from tests.waiting import until_so

pytestmark = pytest.mark.slow

SAID = "Look. [[scenario:interleaved]]"


def kinds(message: Any) -> list[str]:
    return [block["type"] for block in message["content"]]


def stored(opening: Opening, conversation: AsyncConversation) -> list[tuple[str, int, int]]:
    """Every turn that another process would find: how it ended, how many messages were asked, how many blocks came."""
    store = opening.store(conversation)
    found = []
    for passage in store.passages("local", conversation.thread):
        exchange = store.exchange("local", passage.exchange)
        assert exchange is not None
        assert passage.recording is not None
        found.append((exchange.outcome, len(passage.asked), len(passage.recording.blocks)))
    assert store.verify() == ()
    return found


@public("library", "gateway")
@proves("req:S4-8")
@pytest.mark.parametrize(
    ("fault", "error", "outcome"),
    [
        ("status 529", BackendOverloaded, "refused"),
        ("status 400", BackendRejected, "refused"),
        ("status 500", BackendBroken, "refused"),
        ("no-answer rst", BackendBroken, "failed"),
        ("error overloaded_error after=0", BackendOverloaded, "refused"),
        ("cut at=40 how=rst", BackendBroken, "failed"),
    ],
)
def test_a_failure_before_the_answer_leaves_a_turn_that_is_tried_again(
    opening: Opening, a: Simulator, fault: str, error: type[Exception], outcome: str
) -> None:
    """S4-8: the user's message is there, no answer is, the turn is marked; a second try adds no second user row."""

    async def talk() -> None:
        async with opening() as conversation:
            await conversation.ask("Hello.")
            a.fault(fault, times=2 if "no-answer" in fault else 1)  # a kept connection may be dead: it is asked once more
            with pytest.raises(error):
                await conversation.ask(SAID)
            assert stored(opening, conversation)[1:] == [(outcome, 1, 0)]
            assert conversation.messages[2:] == [{"role": "user", "content": SAID}]
            assert [turn.outcome for turn in conversation.turns] == ["whole", outcome]
            await conversation.retry()
            assert [turn.outcome for turn in conversation.turns] == ["whole", "whole"]
            assert [turn.attempts for turn in conversation.turns] == [1, 2]
            assert [message["role"] for message in conversation.messages] == ["user", "assistant"] * 2
            assert conversation.branches == conversation.turns[-1:]

    asyncio.run(talk())


@public("library", "gateway")
@proves("req:S4-8", "req:S4-9")
@pytest.mark.parametrize(
    ("fault", "kept"),
    [
        ("cut before=content_block_stop how=fin", 0),
        ("error overloaded_error after=9", 1),
        ("cut before=message_delta how=rst", 4),
    ],
)
def test_an_answer_that_breaks_off_keeps_its_finished_blocks(opening: Opening, a: Simulator, fault: str, kept: int) -> None:
    """S4-9: it is marked, and goes on as what it is: the next request says that it was not whole."""

    async def talk() -> None:
        async with opening() as conversation:
            a.fault(fault)
            with pytest.raises(BackendError):
                await conversation.ask(SAID)
            assert stored(opening, conversation) == [("cut", 1, kept)]
            assert [kinds(message) for message in conversation.messages[1:]] == ([ALL[:kept]] if kept else [])
            assert conversation.calls == ()
            await conversation.ask("Go on.")
            assert conversation.messages[-2] == {"role": "user", "content": "Go on."}
            assert [turn.outcome for turn in conversation.turns] == (["cut", "whole"] if kept else ["whole"])

    asyncio.run(talk())


ALL = ["thinking", "text", "thinking", "tool_use"]


@public("library", "gateway")
@proves("req:S4-9")
@pytest.mark.parametrize(
    ("after", "kept"),
    [(None, 0), (ThinkingDelta, 0), (TextDelta, 1), (ToolCall, 4)],
    ids=["head", "thinking", "text", "call"],
)
def test_a_caller_that_is_cancelled_leaves_what_was_finished(opening: Opening, a: Simulator, after: Any, kept: int) -> None:
    """S4-9: at every step; the backend stops, and the turn is in the store when the cancelled caller goes on."""

    async def listen(conversation: AsyncConversation, reached: asyncio.Event) -> None:
        async for event in conversation.ask(SAID):
            if after is not None and isinstance(event, after):
                reached.set()

    async def talk() -> None:
        async with opening() as conversation:
            place = {ThinkingDelta: "content=3", TextDelta: "content=7", ToolCall: "before=message_delta"}
            a.fault(f"stall 30 {place[after]}" if after else "slow-start 30")
            reached = asyncio.Event()
            task = asyncio.create_task(listen(conversation, reached))
            if after is None:
                await until_so(lambda: opening.store(conversation).passages("local", conversation.thread))
                await until_so(a.journal)
            else:
                await asyncio.wait_for(reached.wait(), 120)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert stored(opening, conversation) == [("cut", 1, kept)]
            assert conversation.messages[0] == {"role": "user", "content": SAID}
            assert [kinds(message) for message in conversation.messages[1:]] == ([ALL[:kept]] if kept else [])
            a.reset()
            await conversation.retry()
            assert conversation.turns[-1].outcome == "whole"

    asyncio.run(talk())


def test_a_caller_that_stops_the_answer_has_what_was_finished(opening: Opening, a: Simulator) -> None:
    """A stop is no failure: the message is what came."""

    async def talk() -> None:
        async with opening() as conversation:
            a.fault("stall 30 content=7")
            async with conversation.ask(SAID) as answer:
                async for event in answer:
                    if isinstance(event, TextDelta):
                        break
            assert answer.turn is not None
            assert answer.turn.outcome == "cut"
            assert kinds({"content": (await answer.message()).raw_content}) == ["thinking"]
            with pytest.raises(StopAsyncIteration):
                await anext(answer)

    asyncio.run(talk())


@proves("req:S4-8")
def test_a_request_that_cannot_be_made_leaves_a_failed_turn(opening: Opening) -> None:
    """The engine refuses it before anybody is asked."""

    async def talk() -> None:
        async with opening(tools=[{"none": "of that"}]) as conversation:
            with pytest.raises(ClewError):
                await conversation.ask("Hello.")
            assert [outcome for outcome, *_ in stored(opening, conversation)] in (["failed"], ["refused"])

    asyncio.run(talk())


@proves("req:S4-2")
def test_nobody_is_asked_what_could_not_be_saved(opening: Opening, a: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """S4-2: the save comes first, so where there is none there is nothing."""

    async def talk() -> None:
        async with opening() as conversation:
            store: Any = opening.store(conversation)
            monkeypatch.setattr(store._writer, "submit", refuse)
            with pytest.raises(StoreError, match="no room"):
                await conversation.ask("Hello.")
            monkeypatch.undo()
            assert a.journal() == []
            await conversation.retry()
            assert conversation.turns[-1].outcome == "whole"

    asyncio.run(talk())


def refuse(*given: Any, **more: Any) -> Any:
    from concurrent.futures import Future

    failed: Future[bool] = Future()
    failed.set_exception(StoreError("no room"))
    return failed


def test_a_backend_that_is_busy_says_for_how_long(opening: Opening, a: Simulator) -> None:
    async def talk() -> None:
        async with opening() as conversation:
            a.fault("status 429 retry-after=7 message='Slow down.'")
            with pytest.raises(BackendOverloaded, match=r"Slow down\.") as raised:
                await conversation.ask("Hello.")
            assert (raised.value.status, raised.value.retry_after) == (429, 7.0)

    asyncio.run(talk())


def test_what_a_backend_has_no_words_for_is_told_as_that(opening: Opening, b: Simulator) -> None:
    """Not as a refusal of the backend's: nobody asked it."""
    upload = {"type": "container_upload", "file_id": "file_1"}

    async def talk() -> None:
        async with opening() as conversation:
            conversation.use("deepseek", model="deepseek-chat")
            with pytest.raises(Unrepresentable):
                await conversation.ask(["Read this.", upload])
            assert [turn.outcome for turn in conversation.turns] == ["failed"]

    asyncio.run(talk())
    assert b.journal() == []


def test_a_backend_that_is_silent_says_in_which_phase(here: Opening, home: Path, a: Simulator) -> None:
    with (home / "clew.toml").open("a") as settings:
        settings.write("\n[timeouts]\nfirst_byte = 0.2\n")

    async def talk() -> None:
        async with here() as conversation:
            a.fault("slow-start 30")
            with pytest.raises(BackendTimedOut) as raised:
                await conversation.ask("Hello.")
            assert raised.value.phase == "first byte"

    asyncio.run(talk())


def test_one_answer_at_a_time(opening: Opening) -> None:
    async def talk() -> None:
        async with opening() as conversation:
            first = conversation.ask(SAID)
            await anext(first)
            with pytest.raises(RequestInvalid, match="an answer is under way"):
                await conversation.ask("And?")
            await first
            await conversation.results({call.id: "fine" for call in conversation.calls})

    asyncio.run(talk())


@proves("req:S4-9")
def test_a_caller_that_leaves_while_the_end_is_saved_has_a_whole_turn(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is in the store is what is shown, whatever was told."""

    async def talk() -> None:
        async with opening() as conversation:
            store: Any = opening.store(conversation)
            record = store.record

            def recorded(turn: Any) -> Any:
                if turn.exchange.outcome == "whole":
                    asyncio.get_running_loop().call_soon(task.cancel)
                return record(turn)

            monkeypatch.setattr(store, "record", recorded)
            task = asyncio.create_task(conversation.ask(SAID).message())
            with pytest.raises(asyncio.CancelledError):
                await task
            await until_so(lambda: stored(opening, conversation) == [("whole", 1, 4)])  # it is the writer's by now
            assert [turn.outcome for turn in conversation.turns] == ["whole"]
            assert len(conversation.calls) == 1

    asyncio.run(talk())


def test_a_long_question_goes_the_same_way(opening: Opening, a: Simulator) -> None:
    """The engine reads large requests in a thread; what fails there is told and kept too."""
    long = "Read this. " * 20_000

    async def talk() -> None:
        async with opening() as conversation:
            a.fault("status 529")
            with pytest.raises(BackendOverloaded):
                await conversation.ask(long)
            await conversation.retry()
            assert conversation.messages[0] == {"role": "user", "content": long}
            assert stored(opening, conversation)[-1] == ("whole", 1, len(conversation.messages[1]["content"]))

    asyncio.run(talk())
