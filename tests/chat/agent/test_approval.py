"""Approval: nothing that wants it runs without it, and a decision may come days later."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from clew import (
    Agent,
    AsyncAgent,
    CallApproved,
    CallDenied,
    CallSuspended,
    Denied,
    Later,
    Result,
    Tool,
    ToolCall,
    ToolFinished,
    ToolStarted,
    tool,
)
from clew.chat.agent.tools import decision_about
from tests.chat.agent.conftest import SetUp, Stage
from tests.engine.talk import MODEL, refusals

pytestmark = pytest.mark.slow

TWO = """
turn:
  call: look {"place": "shelf"}
  call: delete {"path": "a.txt"}
turn:
  text: {{result}}
"""


class Files:
    """One tool that wants approval, one that does not."""

    def __init__(self) -> None:
        self.gone: list[str] = []
        self.seen: list[str] = []

    def look(self, place: str) -> str:
        """Looks."""
        self.seen.append(place)
        return "dust"

    @tool(approval=True)
    def delete(self, path: str) -> str:
        """Deletes a file."""
        self.gone.append(path)
        return "gone"

    @property
    def tools(self) -> Any:
        return [self.look, self.delete]


def outputs(on: Stage) -> list[tuple[str, bool]]:
    last = json.loads(on.claude.body(on.claude.journal()[-1]["n"]))["messages"][-1]["content"]
    return [(block["content"], block.get("is_error", False)) for block in last]


async def yes(call: ToolCall, tool: Tool) -> bool:
    await asyncio.sleep(0)
    return (call.name, tool.name) == ("delete", "delete")


def yes_at_once(call: ToolCall, tool: Tool) -> bool:
    return threading.current_thread() is not threading.main_thread()


@pytest.mark.parametrize("approve", [yes, yes_at_once], ids=["coroutine", "function"])
def test_a_call_that_is_approved_runs(stage: SetUp, approve: Any) -> None:
    """A plain function may wait for people: it has a thread of its own."""
    on, files = stage(TWO), Files()
    events = list(Agent(model=MODEL, tools=files.tools, approve=approve).stream("Go!", **on.place))
    assert (files.gone, files.seen) == (["a.txt"], ["shelf"])
    assert outputs(on) == [("dust", False), ("gone", False)]
    [approved] = [event for event in events if isinstance(event, CallApproved)]
    assert approved.call.name == "delete"


@pytest.mark.parametrize(
    ("decision", "reason", "words"),
    [
        (False, "", "Denied: this call was not approved, and was not run."),
        (Denied("not today"), "not today", "Denied: this call was not approved, and was not run. Reason: not today"),
        (
            None,
            "the approval was neither yes nor no: None",
            "Denied: this call was not approved, and was not run. Reason: the approval was neither yes nor no: None",
        ),
    ],
)
def test_a_call_that_is_denied_does_not_run_and_the_model_reads_why(
    stage: SetUp, decision: Any, reason: str, words: str
) -> None:
    on, files = stage(TWO), Files()
    events = list(Agent(model=MODEL, tools=files.tools, approve=lambda call, tool: decision).stream("Go!", **on.place))
    assert (files.gone, files.seen) == ([], ["shelf"])
    assert outputs(on) == [("dust", False), (words, True)]
    [denied] = [event for event in events if isinstance(event, CallDenied)]
    assert (denied.call.name, denied.reason) == ("delete", reason)


@pytest.mark.parametrize("said", [None, 0, 1, "no", "yes", Later, Denied], ids=repr)
def test_what_is_no_decision_lets_nothing_run(said: Any) -> None:
    call, wanting = ToolCall(id="t1", name="delete"), Tool.of(Files().delete)
    no = Denied(f"the approval was neither yes nor no: {said!r}")
    assert asyncio.run(decision_about(call, wanting, lambda call, tool: said, {})) == (True, no)
    assert asyncio.run(decision_about(call, wanting, None, {"t1": said})) == (True, no)


@pytest.mark.parametrize("approve", [None, lambda call, tool: Later()], ids=["nobody to ask", "later"])
@pytest.mark.parametrize(("decision", "gone"), [(True, ["a.txt"]), (Denied("no"), [])], ids=["approved", "denied"])
def test_a_decision_may_come_in_another_process(stage: SetUp, approve: Any, decision: Any, gone: list[str]) -> None:
    """The run ends with all calls of the answer pending, none begun; resumed with the decision, it goes on."""
    on, files = stage(TWO), Files()
    first = Agent(model=MODEL, tools=files.tools, approve=approve)
    run = first.stream("Go!", **on.place)
    events = list(run)
    result = run.result()
    assert (result.ending, [call.name for call in result.pending]) == ("suspended", ["look", "delete"])
    assert [event.call.name for event in events if isinstance(event, CallSuspended)] == ["delete"]
    assert [event for event in events if isinstance(event, ToolStarted | ToolFinished)] == []
    assert (files.gone, files.seen) == ([], [])
    again = Agent(model=MODEL, tools=files.tools)
    still = again.resume(thread=result.thread, **on.place).result()
    assert (still.ending, still.pending) == ("suspended", result.pending)
    done = again.resume({result.pending[1].id: decision}, thread=result.thread, **on.place).result()
    assert (done.ending, files.gone, files.seen) == ("answered", gone, ["shelf"])
    assert refusals(on.claude) == []


def test_all_calls_that_wait_are_told_at_once(stage: SetUp) -> None:
    """Anyone who decides sees all of them, and the run goes on only when all are decided."""
    on, files = stage('turn:\n  call: delete {"path": "a"}\n  call: delete {"path": "b"}\nturn:\n  text: Done.\n'), Files()
    with Agent(model=MODEL, tools=files.tools).open(**on.place) as agent:
        events = list(agent.stream("Go!"))
        waiting = [event.call.id for event in events if isinstance(event, CallSuspended)]
        assert waiting == [call.id for call in agent.conversation.calls]
        assert agent.resume({waiting[0]: True}).result().ending == "suspended"
        assert files.gone == []
        assert agent.resume({waiting[0]: True, waiting[1]: Denied()}).result().ending == "answered"
    assert files.gone == ["a"]


def test_something_else_can_be_asked_while_a_call_waits(stage: SetUp) -> None:
    on, files = stage(TWO), Files()
    with Agent(model=MODEL, tools=files.tools).open(**on.place) as agent:
        assert agent.run("Go!").ending == "suspended"
        agent.run("Never mind.")
        asked: Any = agent.conversation.messages[2]["content"]
    assert [block["type"] for block in asked] == ["tool_result", "tool_result", "text"]
    assert (files.gone, refusals(on.claude)) == ([], [])


def test_a_tool_may_want_approval_for_some_calls_only(stage: SetUp) -> None:
    on = stage('turn:\n  call: delete {"path": "a.tmp"}\nturn:\n  call: delete {"path": "a.txt"}\nturn:\n  text: Done.\n')
    gone: list[Path] = []

    @tool(approval=lambda call: ".tmp" not in call.arguments)
    def delete(path: Path) -> None:
        """Deletes a file."""
        gone.append(path)

    result = Agent(model=MODEL, tools=[delete]).run("Go!", **on.place)
    assert (result.ending, gone, [call.arguments for call in result.pending]) == (
        "suspended",
        [Path("a.tmp")],
        ['{"path": "a.txt"}'],
    )


def test_somebody_who_cannot_be_asked_approves_nothing(stage: SetUp) -> None:
    """An approval that fails is raised; the call was not begun, and can be taken up."""
    on, files = stage(TWO), Files()

    def broken(call: ToolCall, tool: Tool) -> bool:
        raise EOFError("no terminal")

    async def talk() -> Result[str]:
        agent = AsyncAgent(model=MODEL, tools=files.tools, approve=broken)
        async with agent.open(**on.place) as opened:
            with pytest.raises(EOFError):
                await opened.run("Go!")
            [_, call] = opened.conversation.calls
            return await opened.resume({call.id: True})

    result = asyncio.run(talk())
    assert (result.ending, files.gone, files.seen) == ("answered", ["a.txt"], ["shelf"])
