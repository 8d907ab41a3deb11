"""Two that take up one suspended run: an approved call runs once, in one process and in two."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from clew import Agent, AsyncAgent, Limits, tool
from clew.chat.agent.calls import INTERRUPTED
from clew.chat.agent.events import Result, ToolStarted
from clew.chat.agent.run import TakenElsewhere
from clew.store.sqlite.store import SqliteStore
from tests.chat.agent.conftest import SetUp, Stage
from tests.chat.conversation.gateway import Gateway
from tests.engine.talk import MODEL

pytestmark = pytest.mark.slow

Place: TypeAlias = dict[str, Any]
Scene: TypeAlias = tuple[Stage, Place]

SCRIPT = """
turn:
  call: pay {"amount": 3}
turn:
  text: {{result}}
"""

SENT = """
turn:
  call: payer {"prompt": "Pay. [[scenario:parallel]]"}
turn:
  text: It says: {{result}}
"""

OTHER = """
import json, sys, time
from clew import Agent, tool

@tool(approval=True)
def pay(amount: int) -> str:
    "Pays."
    with open(sys.argv[3], "a") as file:
        file.write("paid\\n")
    time.sleep(0.5)
    return "paid"

place, decisions = json.loads(sys.argv[1]), json.loads(sys.argv[2])
agent = Agent(model="claude-opus-5-5", tools=[pay])
with agent.open(sys.argv[4], **place) as agent:
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        print(agent.resume(decisions).result().output, flush=True)
    except Exception as error:
        print(type(error).__name__, flush=True)
"""


class Till:
    """Pays, and takes as long for it as a test lets it. `again`: its tool says that it may be run twice."""

    def __init__(self, *, again: bool = False) -> None:
        self.paid, self.most = 0, 1
        self.has_begun, self.may_end = asyncio.Event(), asyncio.Event()
        self.tool = tool(approval=True, idempotent=again)(self.pay)

    async def pay(self, amount: int) -> str:
        """Pays."""
        self.paid += 1
        self.has_begun.set()
        if self.paid > self.most:  # what must not be; and then nobody waits for the end of the test
            self.may_end.set()
        await self.may_end.wait()
        return "paid"

    @property
    def agent(self) -> AsyncAgent[str]:
        return AsyncAgent(model=MODEL, tools=[self.tool])


@pytest.fixture(params=["here", "over a gateway"])
def scene(stage: SetUp, request: pytest.FixtureRequest) -> Iterator[Scene]:
    on = stage(SCRIPT)
    if request.param == "here":
        yield on, on.place
        return
    with Gateway(on.home) as gateway:
        yield on, {"url": gateway.url, "key": gateway.token, **on.place}


async def suspended(agent: AsyncAgent[Any], place: Place) -> tuple[str, dict[str, bool]]:
    result: Result[Any] = await agent.run("Go!", **place)
    assert result.ending == "suspended"
    return result.thread, {call.id: True for call in result.waiting}


async def both(till: Till, agent: AsyncAgent[Any], thread: str, made: dict[str, bool], place: Place) -> list[Any]:
    """What came of two that resume at the same time. The call may end once one of them is over, which did not run it."""
    till.most = len(made)
    runs = [asyncio.ensure_future(agent.resume(made, thread=thread, **place).result()) for _ in range(2)]
    await asyncio.wait(runs, return_when=asyncio.FIRST_COMPLETED)
    till.may_end.set()
    return await asyncio.gather(*runs, return_exceptions=True)


def outcome(each: Any) -> str:
    return type(each).__name__ if isinstance(each, Exception) else each.output


@pytest.mark.parametrize("again", [False, True])
def test_of_two_that_resume_at_once_one_runs_the_call_and_the_other_is_told(scene: Scene, again: bool) -> None:
    """In one process, each with the thread open for itself. A tool that may be run again after a crash is approved once, too."""

    async def talk() -> tuple[list[str], int]:
        till = Till(again=again)
        thread, made = await suspended(till.agent, scene[1])
        return sorted(map(outcome, await both(till, till.agent, thread, made, scene[1]))), till.paid

    assert asyncio.run(talk()) == (["TakenElsewhere", "paid"], 1)


def test_one_that_comes_while_the_call_runs_is_told(scene: Scene) -> None:
    async def talk() -> tuple[int, str]:
        till = Till()
        thread, made = await suspended(till.agent, scene[1])
        first = asyncio.ensure_future(till.agent.resume(made, thread=thread, **scene[1]).result())
        await till.has_begun.wait()
        with pytest.raises(TakenElsewhere, match="another run of this thread has taken these calls"):
            await till.agent.resume(made, thread=thread, **scene[1])
        till.may_end.set()
        return till.paid, (await first).output

    assert asyncio.run(talk()) == (1, "paid")


def test_one_that_looked_before_the_other_had_its_answer_does_not_run_the_call_again(scene: Scene) -> None:
    """The mark is gone by then; what was said since is not."""

    async def talk() -> int:
        till = Till()
        till.may_end.set()
        thread, made = await suspended(till.agent, scene[1])
        async with till.agent.open(thread, **scene[1]) as late:
            assert (await till.agent.resume(made, thread=thread, **scene[1])).output == "paid"
            with pytest.raises(TakenElsewhere):
                await late.resume(made)
        return till.paid

    assert asyncio.run(talk()) == 1


def test_what_was_stopped_is_begun_and_nobody_is_at_it(scene: Scene) -> None:
    """Anyone who goes on is not kept from it, though the process that stopped is still there."""

    async def talk() -> tuple[Any, ...]:
        till = Till()
        thread, made = await suspended(till.agent, scene[1])
        run = till.agent.resume(made, thread=thread, **scene[1])
        async for event in run:
            if isinstance(event, ToolStarted):
                break
        await run.stop()
        return (await till.agent.resume(thread=thread, **scene[1])).output, till.paid

    said, paid = asyncio.run(talk())
    assert (said, paid) == (INTERRUPTED, 0)


def test_a_sub_agents_call_runs_once_too(stage: SetUp) -> None:
    """The sender of the second is told, and does not take it for a failure of its tool."""
    on = stage(SENT)

    async def talk() -> tuple[list[bool], int, int]:
        till = Till()
        payer = AsyncAgent(name="payer", model=MODEL, tools=[till.tool])
        sender = AsyncAgent(model=MODEL, tools=[payer], limits=Limits(steps=5))
        thread, made = await suspended(sender, on.place)
        said = [outcome(each) for each in await both(till, sender, thread, made, on.place)]
        return sorted(each == "TakenElsewhere" for each in said), till.paid, len(made)

    told, paid, calls = asyncio.run(talk())
    assert (told, paid) == ([False, True], calls)


def test_of_two_processes_on_one_store_one_runs_the_call(stage: SetUp, tmp_path: Path) -> None:
    on, ledger = stage(SCRIPT), tmp_path / "ledger"

    @tool(approval=True)
    def pay(amount: int) -> str:
        """Pays."""
        raise AssertionError("nobody has decided yet")

    first = Agent(model=MODEL, tools=[pay]).run("Go!", **on.place)
    made = json.dumps({call.id: True for call in first.waiting})
    place = json.dumps({"home": str(on.home), "environ": {}})
    command = [sys.executable, "-c", OTHER, place, made, str(ledger), first.thread]
    others = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [each.stdout.readline() for each in others if each.stdout] == ["ready\n"] * 2
    for each in others:
        assert each.stdin is not None
        each.stdin.write("\n")
        each.stdin.flush()
    said = sorted(each.communicate(timeout=60)[0].strip() for each in others)
    assert (said, ledger.read_text()) == (["TakenElsewhere", "paid"], "paid\n")
    with SqliteStore(on.home / "clew.db") as store:
        assert dict(store.settings("local")) == {}
