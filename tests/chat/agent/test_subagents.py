"""An agent as the tool of another: its own thread, found from the sender's; told, limited and approved through the sender."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import pytest

from clew import Agent, AsyncAgent, CallDenied, FromAgent, Limits, RunEnded, StepStarted, TextDelta, ToolFinished, tool
from clew.store.sqlite.store import SqliteStore
from tests.chat.agent.conftest import MODELS, SHOWN, SetUp, Stage
from tests.engine.talk import MODEL, refusals

pytestmark = pytest.mark.slow

SEND = """
turn:
  think: Somebody else can look.
  call: scout {"prompt": "Look at the shelf. [[scenario:loop]]"}
  call: scout {"prompt": "Look at the floor. [[scenario:text]]"}
turn:
  text: They say: {{result}}
"""


def look() -> str:
    """Looks."""
    return "dust"


def results(on: Stage) -> list[Any]:
    """What the sender was given."""
    last = json.loads(on.claude.body(on.claude.journal()[-1]["n"]))["messages"][-1]["content"]
    return [(block["content"], block.get("is_error", False)) for block in last]


def test_sub_agents_work_side_by_side_in_threads_of_their_own(stage: SetUp) -> None:
    """The tree of the sender's thread shows both, after the answer that sent them."""
    on = stage(SEND)
    scout = Agent(name="scout", description="Looks at places.", tools=[look], system="You are a scout.")
    agent = Agent(model=MODEL, thinking=SHOWN, tools=[scout])
    run = agent.stream("What is there?", **on.place)
    events = list(run)
    result = run.result()
    assert (result.ending, refusals(on.claude)) == ("answered", [])
    assert results(on) == [
        ("After three steps: dust", False),
        ("Hello. This is a plain answer.", False),
    ]
    told = [event for event in events if isinstance(event, FromAgent)]
    assert {event.agent for event in told} == {"scout"}
    assert sum(isinstance(event.event, RunEnded) for event in told) == 2
    assert len({event.call.id for event in told}) == 2
    with SqliteStore(on.home / "clew.db") as store:
        branches = store.tree("local", result.thread)
        threads = {thread.id: thread for thread in store.threads("local")}
    main, *sent = branches
    assert (main.thread, main.agent, len(main.exchanges)) == (result.thread, "", 2)
    assert {(branch.agent.split("-")[0], branch.after) for branch in sent} == {("scout", main.exchanges[0])}
    assert sorted(len(branch.exchanges) for branch in sent) == [1, 4]
    assert {threads[branch.thread].session for branch in sent} == {threads[result.thread].session}


def test_what_sub_agents_spend_counts_for_the_sender(stage: SetUp) -> None:
    on = stage(SEND)
    agent = Agent(model=MODEL, tools=[Agent(name="scout", tools=[look])], limits=Limits(steps=8))
    run = agent.stream("What is there?", **on.place)
    ended = [event.event.result for event in run if isinstance(event, FromAgent) and isinstance(event.event, RunEnded)]
    result = run.result()
    assert (result.ending, result.steps) == ("answered", 2)
    assert result.usage.output > sum(each.usage.output for each in ended) > 0
    assert result.cost is not None
    assert result.cost.usd > sum(each.cost.usd for each in ended if each.cost) > 0


DEEP = """
turn:
  call: middle {"prompt": "Look there. [[scenario:loop]]"}
turn:
  text: It says: {{result}}
"""


def model_calls(on: Stage) -> int:
    return sum(entry["path"].startswith("/v1/messages") for entry in on.claude.journal())


def test_steps_of_the_whole_tree_count_against_the_senders_limit(stage: SetUp) -> None:
    """Three levels that would make dozens of model calls: the limit and, for each sender, one call to read what came."""
    on = stage(DEEP)
    scout = Agent(name="scout", tools=[look])
    agent = Agent(model=MODEL, tools=[Agent(name="middle", tools=[scout])], limits=Limits(steps=4))
    run = agent.stream("What is there?", **on.place)
    limits = [
        event.event.result.limit for event in run if isinstance(event, FromAgent) and isinstance(event.event, RunEnded)
    ]
    result = run.result()
    assert (result.ending, result.steps, model_calls(on)) == ("answered", 2, 6)
    assert [(each.limit, each.most) for each in limits if each] == [("steps", 4)]
    assert results(on)[0][1] is True


def test_a_sub_agent_has_a_limit_of_its_own_beside_the_senders(stage: SetUp) -> None:
    on = stage(SEND)
    scout = Agent(name="scout", tools=[look], limits=Limits(steps=2))
    result = Agent(model=MODEL, tools=[scout], limits=Limits(steps=50)).run("What is there?", **on.place)
    assert (result.ending, model_calls(on)) == ("answered", 2 + 2 + 1)


def test_a_sub_agent_that_comes_to_no_answer_is_a_failure_that_the_sender_reads(stage: SetUp) -> None:
    on = stage(SEND)
    scout = Agent(name="scout", tools=[look], limits=Limits(steps=1))
    result = Agent(model=MODEL, tools=[scout]).run("What is there?", **on.place)
    assert result.ending == "answered"
    assert results(on)[0] == ("scout gave no answer: the limit of 1 steps is reached.", True)


def test_a_sub_agent_answers_with_a_value(stage: SetUp) -> None:
    on = stage('turn:\n  call: scout {"prompt": "Look. [[scenario:default]]"}\nturn:\n  text: {{result}}\n')

    @dataclass
    class Seen:
        what: str
        how_much: int

    scout = AsyncAgent(name="scout", output=Seen)
    asyncio.run(AsyncAgent(model=MODEL, tools=[scout]).run("What is there?", **on.place))
    [(said, failed)] = results(on)
    assert (set(json.loads(said)), failed) == ({"what", "how_much"}, False)


def test_a_sub_agent_has_a_backend_and_a_model_of_its_own(stage: SetUp) -> None:
    on = stage(SEND, "claude", "deepseek")
    scout = Agent(name="scout", tools=[look], backend="deepseek", model=MODELS["deepseek"])
    run = Agent(model=MODEL, tools=[scout]).stream("What is there?", **on.place)
    asked = [
        (event.event.backend, event.event.model)
        for event in run
        if isinstance(event, FromAgent)
        if isinstance(event.event, StepStarted)
    ]
    assert set(asked) == {("deepseek", MODELS["deepseek"])}
    assert [refusals(each) for each in on.backends.values()] == [[], []]


@pytest.mark.parametrize("yes", [True, False])
def test_anyone_who_approves_for_the_sender_approves_for_the_sub_agent(stage: SetUp, yes: bool) -> None:
    on = stage(SEND)
    looks: list[int] = []

    @tool(approval=True)
    def look() -> str:
        """Looks."""
        looks.append(1)
        return "dust"

    agent = Agent(model=MODEL, tools=[Agent(name="scout", tools=[look])], approve=lambda call, tool: yes)
    events = list(agent.stream("What is there?", **on.place))
    denied = [event.event.reason for event in events if isinstance(event, FromAgent) if isinstance(event.event, CallDenied)]
    assert (len(looks), denied) == ((3, []) if yes else (0, [""] * 3))
    assert isinstance(events[-1], RunEnded)
    assert events[-1].result.ending == "answered"


def test_a_sub_agent_may_send_another(stage: SetUp) -> None:
    """What the last one says is heard at the top, through both."""
    on = stage('turn:\n  call: * {"prompt": "Look. [[scenario:text]]"}\nturn:\n  text: {{result}}\n')
    third = Agent(name="third")
    second = Agent(name="second", tools=[third])
    inner: list[Any] = []

    def listen(event: Any) -> None:
        trail = []
        while isinstance(event, FromAgent):
            trail.append(event.agent)
            event = event.event
        if isinstance(event, TextDelta | ToolFinished):
            inner.append(trail)

    result = Agent(model=MODEL, tools=[second]).run("Look.", listen=listen, **on.place)
    assert result.ending == "answered"
    assert ["second"] in inner
