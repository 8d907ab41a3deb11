"""A process that is killed between a call and its result: anyone who opens the thread again goes on. So it is on the engine in
its own process, and on a gateway that runs elsewhere."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, TypeAlias

import pytest

from clew import Agent, tool
from clew.chat.agent.calls import INTERRUPTED
from clew.store.sqlite.store import SqliteStore
from tests.chat.agent.conftest import SHOWN, SetUp, Stage
from tests.chat.conversation.gateway import Gateway
from tests.engine.talk import MODEL, refusals, whose

pytestmark = pytest.mark.slow

Place: TypeAlias = dict[str, Any]
"""Where the agent's conversation is, as `open` takes it."""
Scene: TypeAlias = tuple[Stage, Place]

SCRIPT = """
turn:
  think: Both at once.
  call: look {"place": "shelf"}
  call: pay {"amount": 3}
turn:
  think: Now I know.
  text: {{result}}
"""

KILLED = """
import json, os, sys, time
from clew import Agent, ToolFinished, tool

@tool(idempotent=True)
def look(place: str) -> str:
    "Looks."
    return "dust"

def pay(amount: int) -> str:
    "Pays."
    os.write(1, b"paying\\n")  # in one piece: another thread writes too
    time.sleep(60)
    return "paid"

agent = Agent(model="claude-opus-5-5", thinking={"type": "adaptive", "display": "summarized"}, tools=[look, pay])
with agent.open(**json.loads(sys.argv[1])) as agent:
    for event in agent.stream("Go!"):
        if isinstance(event, ToolFinished) or len(sys.argv) > 2 and type(event).__name__ == sys.argv[2]:
            os.write(1, f"{agent.conversation.thread}\\n".encode())
            if len(sys.argv) > 2:
                time.sleep(60)
"""


@pytest.fixture(params=["here", "over a gateway"])
def scene(stage: SetUp, request: pytest.FixtureRequest) -> Iterator[Scene]:
    on = stage(SCRIPT)
    place = {"home": str(on.home), "environ": {}}
    if request.param == "here":
        yield on, place
        return
    with Gateway(on.home) as gateway:
        yield on, {"url": gateway.url, "key": gateway.token, **place}


def killed(place: Place, lines: int, *arguments: str) -> list[str]:
    """What it printed before it was killed, which is after so many lines."""
    command = [sys.executable, "-c", KILLED, json.dumps(place), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = [process.stdout.readline().strip() for _ in range(lines)]
        os.kill(process.pid, signal.SIGKILL)
    return said


class Hands:
    """The same tools in another process."""

    def __init__(self) -> None:
        self.done: list[str] = []

    @tool(idempotent=True)
    def look(self, place: str) -> str:
        """Looks."""
        self.done.append(f"looked at {place}")
        return "dust"

    def pay(self, amount: int) -> str:
        """Pays."""
        self.done.append(f"paid {amount}")
        return "paid"

    @property
    def agent(self) -> Agent[str]:
        return Agent(model=MODEL, thinking=SHOWN, tools=[self.look, self.pay])


def results(on: Stage, place: Place, thread: str, hands: Hands) -> list[Any]:
    """What the model read when the run was taken up, and that all went well."""
    with hands.agent.open(thread, **place) as agent:
        assert [call.name for call in agent.conversation.calls] == ["look", "pay"]
        result = agent.resume().result()
        messages: Any = agent.conversation.messages
    assert (result.ending, refusals(on.claude), whose(on.claude)) == ("answered", [], {"own"})
    return [(block["content"], block.get("is_error", False)) for block in messages[2]["content"]]


def test_calls_that_were_running_are_run_again_only_if_that_does_no_harm(scene: Scene) -> None:
    """Killed while one tool runs: what may be run twice is; of the other the model is told that nobody knows."""
    (on, place), hands = scene, Hands()
    said = killed(place, 2)
    [thread] = {line for line in said if line != "paying"}
    assert results(on, place, thread, hands) == [("dust", False), (INTERRUPTED, True)]
    assert hands.done == ["looked at shelf"]
    with SqliteStore(on.home / "clew.db") as store:
        assert dict(store.settings("local")) == {}
        assert store.verify() == ()


def test_calls_that_nobody_had_begun_are_run(scene: Scene) -> None:
    """Killed between the answer and its calls: the answer is kept, and it is known that nothing was done."""
    (on, place), hands = scene, Hands()
    [said] = killed(place, 1, "StepFinished")
    assert results(on, place, said, hands) == [("dust", False), ("paid", False)]
    assert sorted(hands.done) == ["looked at shelf", "paid 3"]


def test_a_decision_runs_a_call_that_was_interrupted(scene: Scene) -> None:
    """Somebody who knows better says so."""
    (_, place), hands = scene, Hands()
    thread = next(line for line in killed(place, 2) if line != "paying")
    with hands.agent.open(thread, **place) as agent:
        [_, pay] = agent.conversation.calls
        result = agent.resume({pay.id: True}).result()
    assert (result.ending, sorted(hands.done)) == ("answered", ["looked at shelf", "paid 3"])
