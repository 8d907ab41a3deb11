"""Sub-agents whose calls want a decision that nobody can make yet: suspended with the agent that sent them, and resumed with it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any, TypeAlias

import pytest

from clew import Agent, AsyncAgent, CallSuspended, Denied, FromAgent, TextDelta, tool, ui_asked, ui_stream
from tests.chat.agent.conftest import SetUp, Stage
from tests.chat.conversation.gateway import Gateway
from tests.engine.talk import MODEL, refusals

pytestmark = pytest.mark.slow

SCRIPT = """
turn:
  think: One looks, one pays, and one goes there.
  call: note {"text": "begun"}
  call: scout {"prompt": "Delete it. [[scenario:parallel]]"}
  call: other {"prompt": "Look at the floor. [[scenario:text]]"}
turn:
  text: They say: {{result}}
"""
Place: TypeAlias = dict[str, Any]


class Hands:
    """What was done, and the agent that does it: a new one each time, as in another process."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def note(self, text: str) -> str:
        """Notes."""
        self.done.append(f"noted {text}")
        return "noted"

    @tool(approval=True)
    def delete(self, path: str) -> str:
        """Deletes."""
        self.done.append("deleted")
        return "gone"

    @property
    def tools(self) -> list[Any]:
        return [self.note, Agent(name="scout", tools=[self.delete]), Agent(name="other")]

    @property
    def agent(self) -> Agent[str]:
        return Agent(model=MODEL, tools=self.tools)


@pytest.fixture(params=["here", "over a gateway"])
def scene(stage: SetUp, request: pytest.FixtureRequest) -> Iterator[tuple[Stage, Place]]:
    on = stage(SCRIPT)
    if request.param == "here":
        yield on, on.place
        return
    with Gateway(on.home) as gateway:
        yield on, {"url": gateway.url, "key": gateway.token, **on.place}


def results(on: Stage) -> list[Any]:
    """What the sender was given."""
    last = json.loads(on.claude.body(on.claude.journal()[-1]["n"]))["messages"][-1]["content"]
    return [(block["content"], block.get("is_error", False)) for block in last]


def test_a_sub_agent_that_waits_suspends_its_sender_and_is_resumed_with_it(scene: tuple[Stage, Place]) -> None:
    """Nothing is done before the decisions, nothing twice after them, and nobody is asked again for what is there."""
    (on, place), hands = scene, Hands()
    run = hands.agent.stream("Go!", **place)
    events = list(run)
    first = run.result()
    assert (first.ending, [call.name for call in first.pending]) == ("suspended", ["note", "scout", "other"])
    assert [call.name for call in first.waiting] == ["delete"] * 3
    put_off = [
        event.event.call for event in events if isinstance(event, FromAgent) if isinstance(event.event, CallSuspended)
    ]
    assert (tuple(put_off), hands.done) == (first.waiting, [])
    one, two, three = (call.id for call in first.waiting)
    again = hands.agent.resume({one: True}, thread=first.thread, **place).result()
    assert (again.ending, [call.id for call in again.waiting], hands.done) == ("suspended", [two, three], [])
    asked = len(on.claude.journal())
    decisions = {one: True, two: Denied("it is needed"), three: True}
    last = hands.agent.resume(decisions, thread=first.thread, **place).result()
    assert (last.ending, last.waiting, hands.done) == ("answered", (), ["deleted", "deleted", "noted begun"])
    noted, scouted, other = results(on)
    assert (noted, other) == (("noted", False), ("Hello. This is a plain answer.", False))
    assert scouted[0].startswith("Together they say: ")
    assert len(on.claude.journal()) == asked + 3, "the rest of scout, all of other, and the sender"
    assert refusals(on.claude) == []


def test_a_sub_agent_that_was_interrupted_goes_on_where_it_was(stage: SetUp) -> None:
    """What it was told before is not asked for again: its thread follows from the call."""
    on = stage(SCRIPT)
    hands = Hands()
    agent = Agent(model=MODEL, tools=hands.tools, approve=lambda call, tool: True)
    with agent.open(**on.place) as opened:
        with opened.stream("Go!") as run:
            for event in run:
                inner = event.event if isinstance(event, FromAgent) else None
                if isinstance(inner, TextDelta) and "Together" in inner.text:
                    break
        thread = opened.conversation.thread
    assert hands.done == ["deleted"] * 3
    result = agent.resume(thread=thread, **on.place).result()
    assert (result.ending, sorted(hands.done)) == ("answered", [*["deleted"] * 3, "noted begun"])
    assert (results(on)[1], refusals(on.claude)) == (("Together they say: gone\ngone\ngone", False), [])


def test_what_waits_two_levels_down_is_found_from_the_top(stage: SetUp) -> None:
    on, done = stage('turn:\n  call: * {"prompt": "Go. [[scenario:parallel]]"}\nturn:\n  text: {{result}}\n'), list[str]()

    @tool(approval=True)
    def delete(prompt: str) -> str:
        """Deletes."""
        done.append(prompt)
        return "gone"

    second = Agent(name="second", tools=[Agent(name="third", tools=[delete])])
    agent = Agent(model=MODEL, tools=[second])
    first = agent.run("Go!", **on.place)
    assert (first.ending, [call.name for call in first.waiting], done) == ("suspended", ["delete"] * 3, [])
    last = agent.resume(dict.fromkeys([call.id for call in first.waiting], True), thread=first.thread, **on.place).result()
    assert (last.ending, len(done), "gone" in (last.output or "")) == ("answered", 3, True)


def test_a_front_end_is_asked_about_the_call_that_it_knows(stage: SetUp) -> None:
    """One question for all that wait there; its answer decides about each."""
    on, hands = stage(SCRIPT), Hands()
    agent = AsyncAgent(model=MODEL, tools=hands.tools)

    async def told(run: Any, **more: Any) -> list[Any]:
        return [part async for part in ui_stream(run, **more)]

    parts = asyncio.run(told(agent.stream("Go!", **on.place)))
    [scout] = [part["toolCallId"] for part in parts if part.get("toolName") == "scout"]
    *_, data = [part for part in parts if part["type"] == "data-approval"]
    *_, question = [part for part in parts if part["type"] == "tool-approval-request"]
    ids = [call["toolCallId"] for call in data["data"]["calls"]]
    assert data == {
        "type": "data-approval",
        "id": scout,
        "data": {
            "agent": "scout",
            "call": scout,
            "calls": data["data"]["calls"],
        },
    }
    assert [(call["toolName"], list(json.loads(call["arguments"]))) for call in data["data"]["calls"]] == [
        ("delete", ["path"])
    ] * 3
    assert question == {"type": "tool-approval-request", "approvalId": " ".join(ids), "toolCallId": scout}
    assert (parts[-1]["finishReason"], hands.done) == ("tool-calls", [])
    approval = {"id": question["approvalId"], "approved": True}
    part = {"type": "tool-scout", "toolCallId": scout, "state": "approval-responded", "approval": approval}
    answer = {"id": "m1", "role": "assistant", "metadata": parts[-1]["messageMetadata"], "parts": [part]}
    asked = ui_asked({"messages": [answer]})
    assert asked.decisions == dict.fromkeys(ids, True)
    rest = asyncio.run(told(agent.resume(asked.decisions, thread=asked.thread, **on.place), message=asked.message))
    assert {"type": "tool-output-available", "toolCallId": scout, "output": "Together they say: gone\ngone\ngone"} in rest
    assert hands.done == [*["deleted"] * 3, "noted begun"]
