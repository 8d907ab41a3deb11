"""An agent's run on a screen: its steps as answers, its tools with their states; and a person who approves calls.

view = view_for(sys.stdout, sys.stderr)
agent = Agent(…, approve=Approving(view))
with closing(view), agent.open() as opened:
    for event in opened.stream("…"):
        show(event, view)
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final

import msgspec

from clew.chat.agent.events import (
    AgentEvent,
    CallDenied,
    CallSuspended,
    FromAgent,
    LimitReached,
    OutputRejected,
    StepRetried,
    ToolFinished,
    ToolStarted,
)
from clew.chat.agent.tools import Denied, Later, Tool
from clew.chat.display.view import View
from clew.chat.messages import ToolCall
from clew.chat.metrics import harmless
from clew.chat.service import Compacted, TextDelta, ThinkingDelta

_YES: Final = ("y", "yes")
_NO: Final = ("", "n", "no")


def show(event: AgentEvent, view: View) -> None:
    """Draw one event of a run. Of a sub-agent only the tools are drawn, under its name: its words are for its caller.

    >>> from clew import CallDenied, ToolCall
    >>> from clew.chat.display.view import PlainView
    >>> view = PlainView(sys.stdout, sys.stdout, thoughts=True)
    >>> show(CallDenied(ToolCall("t1", "delete"), "not today"), view)
    → delete {} denied not today
    """
    if isinstance(event, TextDelta | ThinkingDelta | Compacted):
        view.add(event)
    elif isinstance(event, FromAgent):
        _show_sub_agent(event, view)
    elif isinstance(event, StepRetried):
        view.note(f"{event.error}; asked again in {event.wait:.0f} s")
    elif isinstance(event, LimitReached):
        view.note(str(event.limit))
    elif isinstance(event, OutputRejected):
        view.note(f"the answer is not of the type that was asked for: {event.why}")
    elif isinstance(event, ToolStarted):
        view.tool(event.call, "running")
    elif isinstance(event, ToolFinished):
        output = event.output
        text = output if isinstance(output, str) else msgspec.json.encode(output).decode()
        view.tool(event.call, "failed" if event.is_error else "done", text if event.is_error else "")
    elif isinstance(event, CallDenied):
        view.tool(event.call, "denied", event.reason)
    elif isinstance(event, CallSuspended):
        view.tool(event.call, "asking")


def _show_sub_agent(event: FromAgent, view: View) -> None:
    inner = event.event
    if isinstance(inner, ToolStarted | ToolFinished | CallDenied | CallSuspended):
        call = ToolCall(f"{event.call.id}/{inner.call.id}", f"{event.agent}: {inner.call.name}", inner.call.arguments)
        show(msgspec.structs.replace(inner, call=call), view)
    elif isinstance(inner, FromAgent):
        _show_sub_agent(inner, view)


class Approving:
    """Asks the person at the terminal about each call; any text but yes and no is the reason that the model reads.

    Without a terminal the decision is left for later.
    """

    def __init__(self, view: View | None = None, read: Callable[[str], str] | None = None) -> None:
        """`read` shows a question and returns the answer; by default it is `input` if there is a terminal."""
        self._view = view
        self._read = read or (input if sys.stdin.isatty() else None)

    def __call__(self, call: ToolCall, tool: Tool) -> bool | Denied | Later:
        if self._read is None:
            return Later()
        question = harmless(f"{call.name} {call.arguments}\nRun it? [y/N, or why not] ")
        if self._view is None:
            return _decision(self._read(question))
        with self._view.paused():
            return _decision(self._read(question))


def _decision(answer: str) -> bool | Denied:
    word = answer.strip()
    if word.lower() in _YES:
        return True
    return Denied("the user said no") if word.lower() in _NO else Denied(word)
