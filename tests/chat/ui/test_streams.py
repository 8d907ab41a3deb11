"""What conversations and agents tell, as parts: steps, calls, approval, retries and ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any

import pytest

from clew import Compacted, Ended, Message, TextDelta, ThinkingDelta, ToolCall, Turn
from clew.chat.agent.events import (
    CallDenied,
    CallProposed,
    CallSuspended,
    Result,
    RunEnded,
    StepFinished,
    StepRetried,
    StepStarted,
    ToolFinished,
)
from clew.chat.agent.plan import Reached
from clew.chat.agent.tools import Denied
from clew.chat.ui.requests import ui_asked
from clew.chat.ui.streams import ui_frames, ui_stream
from clew.errors import BackendOverloaded, ClewError, RequestInvalid

CALL = ToolCall(id="t1", name="look", arguments='{"at": "sky"}')
WROTE = ToolCall(id="t2", name="write", arguments="{}")
STEP = StepStarted(1, "claude", "opus")


def step_end(reason: str = "tool_use") -> StepFinished:
    return StepFinished(1, Message(role="assistant", stop_reason=reason), None, None)


def told(*events: Any, **more: Any) -> list[Any]:
    async def all_parts() -> list[Any]:
        return [part async for part in ui_stream(_each(events), **more)]

    return [{name: value for name, value in part.items() if name != "id"} for part in asyncio.run(all_parts())]


async def _each(events: Iterable[Any]) -> AsyncIterator[Any]:
    for event in events:
        yield event


def test_a_compaction_is_told_as_data() -> None:
    """Of a conversation and of an agent's run alike."""
    refused = Turn(id="1b", at=0.0, asked=(), answer=None, outcome="refused", follows="1a")
    written = Turn(id="1c", at=1.0, asked=(), answer=None, outcome="whole", is_summary=True)
    data = {"state": "done", "before": "1b", "of": "1a", "summary": "1c"}
    for before in ((), (STEP,)):
        parts = told(*before, Compacted(refused, written), TextDelta("Hello"))
        assert [part for part in parts if part["type"].startswith("data-")] == [{"type": "data-compaction", "data": data}]


def test_an_answer_is_one_step() -> None:
    ended = Ended(Message(role="assistant", stop_reason="end_turn"), None)
    assert told(ThinkingDelta("Hm."), TextDelta("Bl"), TextDelta("ue."), ended, message="m", metadata={"thread": "t"}) == [
        {"type": "start", "messageId": "m", "messageMetadata": {"thread": "t"}},
        {"type": "start-step"},
        {"type": "reasoning-start"},
        {"type": "reasoning-delta", "delta": "Hm."},
        {"type": "reasoning-end"},
        {"type": "text-start"},
        {"type": "text-delta", "delta": "Bl"},
        {"type": "text-delta", "delta": "ue."},
        {"type": "text-end"},
        {"type": "finish-step"},
        {"type": "finish", "finishReason": "stop"},
    ]


def test_a_run_is_a_step_for_each_model_call_with_its_tools_inside() -> None:
    result: Result[str] = Result(ending="answered", thread="t", output="Blue.", steps=2)
    finished = ToolFinished(CALL, {"colour": "blue"}, is_error=False, seconds=0.1)
    events = [STEP, CallProposed(1, CALL), step_end(), finished, STEP, TextDelta("Blue."), step_end("end_turn")]
    assert told(*events, RunEnded(result)) == [
        {"type": "start"},
        {"type": "start-step"},
        {"type": "tool-input-available", "toolCallId": "t1", "toolName": "look", "input": {"at": "sky"}},
        {"type": "tool-output-available", "toolCallId": "t1", "output": {"colour": "blue"}},
        {"type": "finish-step"},
        {"type": "start-step"},
        {"type": "text-start"},
        {"type": "text-delta", "delta": "Blue."},
        {"type": "text-end"},
        {"type": "finish-step"},
        {"type": "finish", "finishReason": "stop", "messageMetadata": {"thread": "t", "steps": 2}},
    ]


def test_a_call_that_waits_asks_for_approval() -> None:
    result: Result[str] = Result(ending="suspended", thread="t", pending=(WROTE,), steps=1)
    parts = told(STEP, CallProposed(1, WROTE), step_end(), CallSuspended(WROTE), RunEnded(result))
    assert parts[-3:] == [
        {"type": "tool-approval-request", "approvalId": "t2", "toolCallId": "t2"},
        {"type": "finish-step"},
        {"type": "finish", "finishReason": "tool-calls", "messageMetadata": {"thread": "t", "steps": 1}},
    ]


def test_a_call_that_was_denied_has_no_other_end() -> None:
    finished = ToolFinished(WROTE, "denied", is_error=True, seconds=0.0)
    failed = ToolFinished(CALL, {"why": "no sky"}, is_error=True, seconds=0.0)
    parts = told(CallDenied(WROTE, "no"), finished, failed)
    assert parts[1:-1] == [
        {"type": "tool-output-denied", "toolCallId": "t2"},
        {"type": "tool-output-error", "toolCallId": "t1", "errorText": '{"why": "no sky"}'},
    ]


def test_a_step_that_is_tried_again_takes_back_what_was_shown() -> None:
    parts = told(STEP, TextDelta("Bl"), StepRetried(1, ClewError("cut"), 0.1), TextDelta("Blue."), step_end("end_turn"))
    assert [part["type"] for part in parts] == [
        *("start", "start-step", "text-start", "text-delta", "reset-step"),
        *("text-start", "text-delta", "text-end", "finish-step", "finish"),
    ]


def test_a_limit_is_said_in_words() -> None:
    reached = Reached("steps", 10, 10)
    [*_, finish] = told(RunEnded(Result(ending="limit", thread="t", limit=reached)))
    assert finish == {
        "type": "finish",
        "finishReason": "other",
        "messageMetadata": {"thread": "t", "steps": 0, "limit": "the limit of 10 steps is reached"},
    }


def test_arguments_that_are_no_json_are_an_error_of_the_call() -> None:
    [_, _, wrong, *_] = told(CallProposed(1, ToolCall(id="t1", name="look", arguments="{")))
    assert (wrong["type"], wrong["input"]) == ("tool-input-error", "{")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            BackendOverloaded("Overloaded"),
            "Overloaded. Your question is kept. Try again in a moment, or choose another backend.",
        ),
        (ValueError("a secret"), "The chat server failed; its log has the details. Your question is kept. Try again."),
    ],
)
def test_what_fails_is_told_and_the_stream_ends(error: Exception, words: str) -> None:
    async def broken() -> AsyncIterator[Any]:
        yield {"type": "start"}
        raise error

    async def frames() -> list[bytes]:
        return [frame async for frame in ui_frames(broken())]

    assert asyncio.run(frames())[1:] == [
        b'data: {"type":"error","errorText":"' + words.encode() + b'"}\n\n',
        b"data: [DONE]\n\n",
    ]


THREAD = "1a1e43d179b7ed3be52bc6"


def test_decisions_come_with_the_answer_that_they_are_about() -> None:
    parts = [
        {
            "type": "tool-write",
            "toolCallId": "t1",
            "state": "approval-responded",
            "approval": {"id": "t1", "approved": True},
        },
        {
            "type": "tool-write",
            "toolCallId": "t2",
            "state": "approval-responded",
            "approval": {"approved": False, "reason": "no"},
        },
        {"type": "tool-look", "toolCallId": "t3", "state": "output-available", "output": 1},
    ]
    answer = {"id": "m", "role": "assistant", "metadata": {"thread": THREAD}, "parts": parts}
    asked = ui_asked({"messages": [{"role": "user", "parts": []}, answer]})
    assert (asked.decisions, asked.thread, asked.message) == ({"t1": True, "t2": Denied("no")}, THREAD, "m")


@pytest.mark.parametrize("thread", ["1", THREAD[:-1], f"{THREAD}0", "last", "%"])
def test_how_a_thread_begins_is_not_enough_to_go_on_with_it(thread: str) -> None:
    """Users of an app could find each other's conversations, and the operator's own, by trying."""
    answer = {"id": "m", "role": "assistant", "metadata": {"thread": thread}, "parts": []}
    with pytest.raises(RequestInvalid, match="no thread"):
        ui_asked({"messages": [answer, {"role": "user", "parts": [{"type": "text", "text": "What did I say?"}]}]})


@pytest.mark.parametrize("body", [None, {}, {"messages": []}, {"messages": [{"role": "assistant", "parts": []}]}])
def test_a_request_without_anything_to_answer_is_refused(body: Any) -> None:
    with pytest.raises(RequestInvalid):
        ui_asked(body)
