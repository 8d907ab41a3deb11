"""Limits: what a run may spend, what happens when it has, and that it can go on from there."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import pytest

from clew import Agent, AsyncAgent, LimitReached, Limits, RunEnded, ToolFailed
from clew.chat.agent.plan import Limit, Reached, Spending
from clew.chat.prices import Cost
from clew.model.turn import TokenUsage
from tests.chat.agent.conftest import SetUp
from tests.engine.talk import MODEL, refusals
from tests.waiting import forever

THREE = "".join(f'turn:\n  call: look {{"place": "{place}"}}\n' for place in "abc") + "turn:\n  text: Done.\n"


def look(place: str) -> str:
    """Looks at a place."""
    return f"dust on {place}"


def spent(limits: Limits, *calls: tuple[int, str | None]) -> Spending:
    spending = Spending(limits)
    for tokens, usd in calls:
        spending.step()
        spending.add(TokenUsage(input=tokens, output=1), Cost(Decimal(usd)) if usd else None)
    return spending


@pytest.mark.parametrize(
    ("spending", "reached"),
    [
        (spent(Limits(steps=2), (1, None)), None),
        (spent(Limits(steps=2), (1, None), (1, None)), Reached("steps", 2, 2)),
        (spent(Limits(tokens=12), (5, None), (5, None)), Reached("tokens", 12, 12)),
        (spent(Limits(usd=0.5), (1, "0.2"), (1, "0.2")), None),
        (spent(Limits(usd=0.5), (1, "0.2"), (1, "0.3")), Reached("usd", 0.5, 0.5)),
        (spent(Limits(usd=0.5), (1, "0.2"), (1, None)), Reached("usd", 0.5, None)),
        (spent(Limits(steps=None, failures=None), *[(1, None)] * 1000), None),
    ],
)
def test_the_first_limit_that_is_reached_is_named(spending: Spending, reached: Reached | None) -> None:
    """A price that nobody knows is not nothing: the limit cannot be held."""
    assert spending.reached() == reached


def test_what_a_sub_agent_spends_is_spent_by_anyone_who_sent_it() -> None:
    sender = Spending(Limits(tokens=10))
    sent = Spending(Limits(steps=9), sender)
    sent.step()
    sent.add(TokenUsage(output=10), Cost(Decimal(1)))
    assert (sender.tokens, sender.cost, sender.steps) == (10, Cost(Decimal(1)), 0)
    assert sent.reached() == sender.reached() == Reached("tokens", 10, 10)


def test_time_is_the_shortest_of_all_who_wait() -> None:
    sender = Spending(Limits(seconds=0.0))
    sent = Spending(Limits(seconds=100), sender)
    assert (sent.left, Spending(Limits()).left) == (0.0, None)
    late = Spending(Limits(), sender).reached()
    assert late is not None
    assert (late.limit, late.most) == ("seconds", 0.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limits", "limit", "steps"),
    [
        (Limits(steps=2), "steps", 2),
        (Limits(tokens=1), "tokens", 1),
        (Limits(usd=1e-9), "usd", 1),
        (Limits(seconds=0), "seconds", 0),
    ],
    ids=["steps", "tokens", "usd", "seconds"],
)
def test_a_run_ends_at_a_limit_and_goes_on_from_there(stage: SetUp, limits: Limits, limit: str, steps: int) -> None:
    """It is told, the result says so, the calls were not begun, and another run takes them up."""
    on = stage(THREE)
    looks: list[str] = []

    def look(place: str) -> str:
        """Looks at a place."""
        looks.append(place)
        return "dust"

    short = Agent(model=MODEL, tools=[look], limits=limits)
    run = short.stream("Look!", **on.place)
    events = list(run)
    result = run.result()
    assert (result.ending, result.output, result.steps) == ("limit", None, steps)
    assert result.limit is not None
    assert (result.limit.limit, result.limit.most) == (limit, getattr(limits, limit))
    assert events[-2:] == [LimitReached(result.limit), RunEnded(result)]
    assert looks == list("abc")[: max(0, steps - 1)]
    assert [call.name for call in result.pending] == (["look"] if steps else [])
    long = Agent(model=MODEL, tools=[look])
    again = long.resume(thread=result.thread, **on.place).result() if steps else long.run("Look!", **on.place)
    assert (again.ending, again.output, looks) == ("answered", "Done.", ["a", "b", "c"])
    assert refusals(on.claude) == []


@pytest.mark.slow
def test_something_else_can_be_asked_after_a_limit(stage: SetUp) -> None:
    """The calls that were not run have a result that says so, in the same message: the history stays legal."""
    on = stage(THREE)
    agent = Agent(model=MODEL, tools=[look], limits=Limits(steps=1))
    with agent.open(**on.place) as opened:
        assert opened.run("Look!").ending == "limit"
        opened.run("Never mind.")
        asked: Any = opened.conversation.messages[2]["content"]
    assert [block["type"] for block in asked] == ["tool_result", "text"]
    assert (asked[0]["is_error"], asked[0]["content"][:8], asked[1]["text"]) == (True, "Not run:", "Never mind.")
    assert refusals(on.claude) == []


@pytest.mark.slow
def test_time_that_is_up_cuts_an_answer_and_the_run_goes_on_later(stage: SetUp) -> None:
    on = stage(THREE)
    on.claude.fault("stall 30 content=1")
    agent = Agent(model=MODEL, tools=[look], limits=Limits(seconds=0.5))
    result = agent.run("Look!", **on.place)
    assert (result.ending, result.limit.limit if result.limit else "") == ("limit", "seconds")
    on.claude.reset()
    again = Agent(model=MODEL, tools=[look]).resume(thread=result.thread, **on.place).result()
    assert (again.ending, again.output) == ("answered", "Done.")


@pytest.mark.slow
def test_time_that_is_up_while_a_tool_runs_leaves_its_call_pending(stage: SetUp) -> None:
    on = stage(THREE)

    async def look(place: str) -> str:
        """Looks for a long time."""
        await forever()
        return place

    agent = AsyncAgent(model=MODEL, tools=[look], limits=Limits(seconds=3))
    result = asyncio.run(agent.run("Look!", **on.place))
    assert (result.ending, [call.name for call in result.pending]) == ("limit", ["look"])


@pytest.mark.slow
def test_a_model_that_only_ever_fails_its_tools_is_stopped(stage: SetUp) -> None:
    on = stage(THREE)

    def look(place: str) -> str:
        """Never works."""
        raise ToolFailed("no")

    result = Agent(model=MODEL, tools=[look], limits=Limits(failures=2)).run("Look!", **on.place)
    assert (result.ending, result.limit, result.steps) == ("limit", Reached("failures", 2, 2), 3)


@pytest.mark.slow
def test_a_step_of_which_something_worked_is_no_failure(stage: SetUp) -> None:
    both = 'turn:\n  call: look {"place": "a"}\n  call: find {}\n'
    on = stage(both * 3 + "turn:\n  text: Done.\n")
    result = Agent(model=MODEL, tools=[look], limits=Limits(failures=2)).run("Look!", **on.place)
    assert (result.ending, result.steps) == ("answered", 4)


@pytest.mark.slow
@pytest.mark.parametrize(("limits", "limit"), [(Limits(tokens=9_999_999), "tokens"), (Limits(usd=99), "usd")])
def test_tokens_that_nobody_counts_end_a_run_that_is_limited_by_them(stage: SetUp, limits: Limits, limit: Limit) -> None:
    """A limit that cannot be held is not passed over in silence."""
    on = stage(THREE)
    on.claude.fault("no-usage", times=None)
    result = Agent(model=MODEL, tools=[look], limits=limits).run("Look!", **on.place)
    assert (result.ending, result.limit) == ("limit", Reached(limit, getattr(limits, limit), None))


@pytest.mark.slow
def test_a_price_that_nobody_knows_ends_a_run_with_a_limit_in_dollars(stage: SetUp) -> None:
    on = stage(THREE, "own")
    agent = Agent(model="compat-model", tools=[look], limits=Limits(usd=100))
    result = agent.run("Look!", **on.place)
    assert (result.ending, result.limit) == ("limit", Reached("usd", 100, None))
    assert str(result.limit) == "the limit of 100 usd is reached, because a price is not known"
