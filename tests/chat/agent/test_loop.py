"""The loop: what is told and in which order, tools side by side, failures on the way, and anyone who listens."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest

from clew import (
    Agent,
    AsyncAgent,
    CallProposed,
    Compacted,
    Limits,
    RunEnded,
    StepFinished,
    StepRetried,
    StepStarted,
    TextDelta,
    ThinkingDelta,
    Tool,
    ToolFailed,
    ToolFinished,
    ToolStarted,
)
from clew.chat.agent.calls import INTERRUPTED
from clew.errors import BackendOverloaded, BackendRejected, RequestInvalid
from clew.testing import Simulator
from tests.chat.agent.conftest import MODELS, SHOWN, SetUp
from tests.engine.talk import MODEL, refusals
from tests.waiting import forever, until_so

pytestmark = pytest.mark.slow

LOOK = """
turn:
  think: First a look.
  call: look {"place": "shelf"}
turn:
  text: There is {{result}}.
"""
THREE = """
turn:
  call: wait {"number": 1}
  call: wait {"number": 2}
  call: wait {"number": 3}
turn:
  text: {{result}}
"""


def look(place: str) -> str:
    """Looks at a place."""
    return f"dust on the {place}"


def sent_results(simulator: Simulator) -> list[Any]:
    """The tool results in the last request."""
    last = json.loads(simulator.body(simulator.journal()[-1]["n"]))["messages"][-1]["content"]
    return [block for block in last if block["type"] == "tool_result"]


def told(event: object) -> Any:
    """An event by its kind; pieces of text as what they are pieces of."""
    return type(event).__name__


def once(names: list[str]) -> list[str]:
    return [name for index, name in enumerate(names) if index == 0 or names[index - 1] != name]


def test_everything_is_told_in_the_order_in_which_it_happens(stage: SetUp) -> None:
    on = stage(LOOK)
    agent = AsyncAgent(model=MODEL, tools=[look], thinking=SHOWN)
    events: list[object] = []

    async def listen(event: object) -> None:
        events.append(event)

    result = asyncio.run(agent.run("Look!", listen=listen, **on.place))
    assert once([told(event) for event in events]) == [
        *("StepStarted", "ThinkingDelta", "CallProposed", "StepFinished", "ToolStarted", "ToolFinished"),
        *("StepStarted", "TextDelta", "StepFinished", "RunEnded"),
    ]
    [proposed] = [event for event in events if isinstance(event, CallProposed)]
    [started] = [event for event in events if isinstance(event, ToolStarted)]
    [finished] = [event for event in events if isinstance(event, ToolFinished)]
    assert proposed.call == started.call == finished.call
    assert (finished.output, finished.is_error) == ("dust on the shelf", False)
    assert finished.seconds >= 0
    steps = [event for event in events if isinstance(event, StepFinished)]
    assert [(step.step, step.turn.outcome if step.turn else "", step.cost is not None) for step in steps] == [
        (1, "whole", True),
        (2, "whole", True),
    ]
    thought = "".join(event.text for event in events if isinstance(event, ThinkingDelta))
    said = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert (thought, said) == ("First a look.", "There is dust on the shelf.")
    assert events[-1] == RunEnded(result)
    assert (result.ending, result.output, result.steps, result.pending) == ("answered", said, 2, ())
    assert result.usage.output == sum(step.turn.usage.output for step in steps if step.turn and step.turn.usage)
    assert result.cost is not None
    assert result.cost.usd == sum(step.cost.usd for step in steps if step.cost)


def test_calls_run_side_by_side_and_results_are_in_their_order(stage: SetUp) -> None:
    """Each waits for the one after it: in a row they would wait for ever."""
    on = stage(THREE)

    async def talk() -> tuple[Any, list[int]]:
        done = {number: asyncio.Event() for number in (1, 2, 3, 4)}
        done[4].set()

        async def wait(number: int) -> str:
            async with asyncio.timeout(120):
                await done[number + 1].wait()
            done[number].set()
            return f"number {number}"

        order: list[int] = []

        def listen(event: object) -> None:
            if isinstance(event, ToolFinished):
                order.append(int(str(event.output)[-1]))

        return await AsyncAgent(model=MODEL, tools=[wait]).run("Wait!", listen=listen, **on.place), order

    result, order = asyncio.run(talk())
    assert order == [3, 2, 1]
    assert [block["content"] for block in sent_results(on.claude)] == ["number 1", "number 2", "number 3"]
    assert result.ending == "answered"


def test_failures_are_results_that_the_model_reads(stage: SetUp) -> None:
    """An unknown tool, wrong arguments, an exception: each call has its own, and the run goes on."""
    on = stage("""
turn:
  call: look {"place": "shelf"}
  call: find {"what": "keys"}
  call: look {"where": 1}
  call: fail {}
turn:
  text: Sorry.
""")

    def fail() -> None:
        """Fails."""
        raise ToolFailed("try again tomorrow")

    result = Agent(model=MODEL, tools=[look, fail]).run("Look!", **on.place)
    assert [(block["content"], block.get("is_error", False)) for block in sent_results(on.claude)] == [
        ("dust on the shelf", False),
        ("There is no tool 'find'; there are: look, fail.", True),
        ("The arguments of look are wrong: Object contains unknown field `where`. Nothing was done.", True),
        ("try again tomorrow", True),
    ]
    assert (result.ending, refusals(on.claude)) == ("answered", [])


def test_the_backend_may_change_at_the_start_of_a_step(stage: SetUp) -> None:
    """What a listener says holds for the very request that it heard of."""
    on = stage(LOOK, "claude", "deepseek")

    async def talk() -> list[str]:
        agent = AsyncAgent(model=MODEL, tools=[look], thinking=SHOWN)
        async with agent.open(**on.place) as opened:
            async for event in opened.stream("Look!"):
                if isinstance(event, StepStarted) and event.step == 2:
                    opened.conversation.use("deepseek", model=MODELS["deepseek"])
            return [turn.backend for turn in opened.conversation.turns]

    assert asyncio.run(talk()) == ["claude", "deepseek"]
    assert [refusals(each) for each in on.backends.values()] == [[], []]


def test_a_model_call_that_fails_is_tried_again_when_the_backend_says(stage: SetUp) -> None:
    """The tools are not run again, and there is no second row of their results."""
    on = stage(LOOK)
    looks: list[str] = []

    def look(place: str) -> str:
        """Looks at a place."""
        looks.append(place)
        on.claude.fault("status 529 retry-after=0")
        on.claude.fault("error overloaded_error after=0")
        return "dust"

    agent = Agent(model=MODEL, tools=[look])
    with agent.open(**on.place) as opened:
        events = list(opened.stream("Look!"))
        turns = opened.conversation.turns
    retried = [event for event in events if isinstance(event, StepRetried)]
    assert [(event.step, type(event.error)) for event in retried] == [(2, BackendOverloaded)] * 2
    assert retried[0].wait == 0.0
    assert 0.5 <= retried[1].wait <= 1.0
    assert looks == ["shelf"]
    assert [(turn.outcome, turn.attempts) for turn in turns] == [("whole", 1), ("whole", 3)]


@pytest.mark.parametrize(("fault", "error"), [("status 400", BackendRejected), ("status 529", BackendOverloaded)])
def test_a_failure_for_good_is_raised_and_the_run_can_be_resumed(stage: SetUp, fault: str, error: type[Exception]) -> None:
    on = stage(LOOK)
    agent = Agent(model=MODEL, tools=[look], retries=0)
    with agent.open(**on.place) as opened:
        on.claude.fault(fault)
        with pytest.raises(error):
            opened.run("Look!")
        assert opened.resume().result().output == "There is dust on the shelf."
        assert opened.resume().result().output == "There is dust on the shelf."
        assert [message["role"] for message in opened.conversation.messages] == ["user", "assistant"] * 2


def test_results_that_were_never_answered_go_with_the_next_question(stage: SetUp) -> None:
    on = stage(LOOK)
    agent = Agent(model=MODEL, tools=[look], retries=0)
    with agent.open(**on.place) as opened:

        def listen(event: object) -> None:
            if isinstance(event, ToolFinished):
                on.claude.fault("status 400")

        with pytest.raises(BackendRejected):
            opened.run("Look!", listen=listen)
        assert opened.run("And now?").ending == "answered"
        last = opened.conversation.messages[-2]["content"]
    assert [block["type"] for block in last] == ["tool_result", "text"]
    assert (last[0]["content"], last[1]["text"], refusals(on.claude)) == ("dust on the shelf", "And now?", [])


def test_a_run_that_is_left_goes_no_further_and_can_be_resumed(stage: SetUp) -> None:
    """Nobody came back for the next event, so the tool was not called; whether it was is not known to anyone who resumes."""
    on = stage(LOOK)
    looks: list[str] = []

    async def look(place: str) -> None:
        """Looks at a place."""
        looks.append(place)

    async def talk() -> tuple[Any, ...]:
        agent = AsyncAgent(model=MODEL, tools=[look])
        async with agent.open(**on.place) as opened:
            async with opened.stream("Look!") as run:
                async for event in run:
                    if isinstance(event, ToolStarted):
                        break
            with pytest.raises(RequestInvalid, match="did not come to its end"):
                await run.result()
            assert [call.name for call in opened.conversation.calls] == ["look"]
            return await opened.resume(), opened.conversation.messages

    result, messages = asyncio.run(talk())
    assert looks == []
    assert messages[2]["content"][0]["content"] == INTERRUPTED
    assert (result.ending, refusals(on.claude)) == ("answered", [])


def test_a_caller_that_is_cancelled_leaves_nothing_running(stage: SetUp) -> None:
    on = stage(LOOK)
    started, ended = [], []

    async def look(place: str) -> str:
        """Looks at a place."""
        started.append(place)
        try:
            await forever()
        finally:
            ended.append(place)
        return ""

    async def talk() -> None:
        task = asyncio.create_task(AsyncAgent(model=MODEL, tools=[look]).run("Look!", **on.place))
        await until_so(lambda: started)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended == ["shelf"]

    asyncio.run(talk())


def test_a_listener_that_fails_or_is_cancelled_ends_the_run(stage: SetUp) -> None:
    on = stage(LOOK)

    def fail(event: object) -> None:
        raise LookupError("not here")

    async def talk() -> Any:
        heard = asyncio.Event()

        async def wait(event: object) -> None:
            heard.set()
            await forever()

        async with AsyncAgent(model=MODEL, tools=[look]).open(**on.place) as agent:
            with pytest.raises(LookupError):
                await agent.run("Look!", listen=fail)

            async def run() -> None:
                await agent.run("Look!", listen=wait)

            running = asyncio.create_task(run())
            await heard.wait()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            return (await agent.run("Look!")).ending

    assert asyncio.run(talk()) == "answered"


def test_nothing_happens_before_somebody_listens(stage: SetUp) -> None:
    on = stage(LOOK)
    with Agent(model=MODEL, tools=[look]).open(**on.place) as agent:
        run = agent.stream("Look!")
        with pytest.raises(RequestInvalid, match="the run has not begun"):
            _ = run.conversation
        assert agent.conversation.turns == []
        run.stop()
    assert on.claude.journal() == []


def test_an_agent_that_is_not_open_has_no_conversation(stage: SetUp) -> None:
    on = stage(LOOK)
    agent = Agent(model=MODEL, tools=[look])
    with pytest.raises(RequestInvalid, match="has no conversation yet"):
        _ = agent.conversation
    with agent.open(**on.place) as opened, pytest.raises(RequestInvalid, match="this agent is open"):
        opened.stream("Look!", thread="elsewhere")
    with pytest.raises(RequestInvalid, match="nothing to resume"):
        agent.resume(**on.place).result()


def test_an_error_with_bytes_that_are_no_text_is_a_result(stage: SetUp) -> None:
    on = stage(LOOK)

    def look(place: str) -> str:
        """Looks."""
        raise ToolFailed("there is no caf\udce9.txt")

    events = list(Agent(model=MODEL, tools=[look]).stream("Look!", **on.place))
    assert [event.output for event in events if isinstance(event, ToolFinished)] == ["there is no caf\ufffd.txt"]
    assert [result["content"] for result in sent_results(on.claude)] == ["there is no caf\ufffd.txt"]


def test_a_coroutine_that_would_wait_for_its_own_loop_is_told(stage: SetUp) -> None:
    """It would wait for ever, and the run with it."""
    on = stage(LOOK)
    opened: list[Agent[str]] = []

    async def look(place: str) -> str:
        """Looks."""
        return str(opened[0].conversation.as_sent())

    with Agent(model=MODEL, tools=[look]).open(**on.place) as agent:
        opened.append(agent)
        assert agent.run("Look!").ending == "answered"
    assert "cannot wait for the loop that it runs on" in sent_results(on.claude)[0]["content"]


def test_a_thread_is_gone_on_with_in_another_run(stage: SetUp) -> None:
    on = stage(LOOK)
    agent = Agent(model=MODEL, tools=[look], limits=Limits(steps=5))
    first = agent.run("Look!", **on.place)
    second = agent.run("Again!", thread=first.thread, **on.place)
    assert (first.thread, first.output) == (second.thread, second.output)
    assert len(json.loads(on.claude.body(on.claude.journal()[-1]["n"]))["messages"]) == 7


def test_a_run_of_its_own_can_be_listened_to_and_steered(stage: SetUp) -> None:
    """A blocking run that opened its thread by itself has a conversation as long as it goes on."""
    on = stage(LOOK, "claude", "deepseek")
    run = Agent(model=MODEL, tools=[look]).stream("Look!", **on.place)
    for event in run:
        if isinstance(event, StepFinished) and event.step == 1:
            run.conversation.use("deepseek", model=MODELS["deepseek"])
    assert run.result().output == "There is dust on the shelf."
    assert list(run) == []
    assert len(on.backends["deepseek"].journal()) == 1


@pytest.mark.parametrize(("stop", "ending"), [("refusal cyber", "refused"), ("max_tokens", "cut")])
def test_half_an_answer_is_none(stage: SetUp, stop: str, ending: str) -> None:
    on = stage(f"turn:\n  text: I would rather\n  stop: {stop}\n")
    result = Agent(model=MODEL).run("Do it!", **on.place)
    said = result.message.content if result.message else ""
    assert (result.ending, result.output, said) == (ending, None, "I would rather")


def test_a_conversation_has_one_run_at_a_time(stage: SetUp) -> None:
    on = stage(LOOK)
    with Agent(model=MODEL, tools=[look]).open(**on.place) as agent:
        first = agent.stream("Look!")
        for event in first:
            if isinstance(event, ToolStarted):
                with pytest.raises(RequestInvalid, match="a run is under way"):
                    agent.run("And?")
        assert first.result().ending == "answered"
        assert agent.run("And now?").ending == "answered"
    assert refusals(on.claude) == []


def test_a_run_that_nobody_comes_back_to_ends_with_its_agent(stage: SetUp) -> None:
    """What came is kept, and nothing is left running: the thread can be gone on with."""
    on = stage(LOOK)

    async def talk() -> tuple[str, int]:
        before = asyncio.all_tasks()
        async with AsyncAgent(model=MODEL, tools=[look], thinking=SHOWN).open(**on.place) as agent:
            run = agent.stream("Look!")
            async for event in run:
                if isinstance(event, ThinkingDelta):
                    break
            thread = agent.conversation.thread
        return thread, len(asyncio.all_tasks() - before)

    thread, left = asyncio.run(talk())
    assert left == 0
    assert Agent(model=MODEL, tools=[look], thinking=SHOWN).resume(thread=thread, **on.place).result().ending == "answered"


def test_a_blocking_run_that_nobody_holds_any_more_ends(stage: SetUp) -> None:
    """Its loop, its store and its thread end with it, without a word from anyone who left."""
    on = stage(LOOK)
    before = {thread.name for thread in threading.enumerate()}
    for event in Agent(model=MODEL, tools=[look]).stream("Look!", **on.place):
        assert isinstance(event, StepStarted)
        break
    assert {thread.name for thread in threading.enumerate()} <= before


def test_two_agents_share_a_conversation_each_with_its_own_tools(stage: SetUp) -> None:
    on = stage(LOOK)

    def smell(place: str) -> str:
        """Smells at a place."""
        return place

    async def talk() -> None:
        async with AsyncAgent(model=MODEL, tools=[look]).open(**on.place) as first:
            second = AsyncAgent(tools=[look, smell]).on(first.conversation)
            for agent in (first, second, first):
                await agent.run("Look!")

    asyncio.run(talk())
    bodies = [json.loads(on.claude.body(entry["n"])) for entry in on.claude.journal()]
    assert once(["+".join(tool["name"] for tool in body["tools"]) for body in bodies]) == ["look", "look+smell", "look"]


def test_an_agent_has_a_backend_and_a_system_prompt_of_blocks(stage: SetUp) -> None:
    """A tool may be given as what it is, too; the thread is not pinned to the backend."""
    on = stage(LOOK, "claude", "deepseek")
    system = [{"type": "text", "text": "Be brief."}]
    agent = AsyncAgent(backend="deepseek", model=MODELS["deepseek"], system=system, tools=[Tool.of(look)])
    with pytest.raises(RequestInvalid, match="has no conversation yet"):
        _ = agent.conversation
    result = asyncio.run(agent.run("Look!", **on.place))
    assert (result.ending, len(on.backends["deepseek"].journal()), on.claude.journal()) == ("answered", 2, [])
    with Agent(tools=[look]).open(result.thread, **on.place) as opened:
        assert opened.conversation.backend == "claude"


def test_a_run_that_becomes_too_long_goes_on_from_a_summary(stage: SetUp) -> None:
    """In the middle of a tool loop: what the summary took is counted, and the results are in what follows it."""
    on = stage()
    long = "Remember this, word for word. " * 9_000

    def read() -> str:
        """Reads a book."""
        return long

    agent = Agent(model="claude-sonnet-4-5", tools=[read], on_overflow="compact")
    with agent.open(**on.place) as opened:
        assert opened.run(f"One. {long}").ending == "answered"
        run = opened.stream("Two.")
        events = list(run)
        result = run.result()
    [compacted] = [event for event in events if isinstance(event, Compacted)]
    steps = [event.turn for event in events if isinstance(event, StepFinished)]
    assert (result.ending, refusals(on.claude)[0][:18]) == ("answered", "prompt is too long")
    took = [turn.usage.input + turn.usage.cache_read for turn in [*steps, compacted.summary] if turn and turn.usage]
    assert result.usage.input + result.usage.cache_read == sum(took)
    assert len(took) == result.steps + 1
