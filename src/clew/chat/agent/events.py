"""The events of a run, in the order in which they happen.

    StepStarted
      ThinkingDelta, TextDelta …, CallProposed …         as the answer comes
      Compacted                                           the conversation was too long, and continues from a summary
      StepRetried, and the same once more                 the answer failed and is tried again
    StepFinished                                          the answer is stored, with its usage
      CallApproved, CallDenied, CallSuspended …           a person was asked
      ToolStarted …, FromAgent …, ToolFinished …          side by side
    StepStarted …
    OutputRejected                                        an answer that is not of the type that was asked for
    LimitReached
    RunEnded                                              the last event, unless the run raises

A listener may change what follows: `conversation.use` at one event holds for the next request.
"""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeAlias, TypeVar

from msgspec import Struct

from clew.chat.agent.plan import Reached
from clew.chat.messages import Message, ToolCall
from clew.chat.prices import Cost
from clew.chat.service import Compacted, TextDelta, ThinkingDelta
from clew.chat.turns import Turn
from clew.errors import ClewError
from clew.model.json import JsonValue
from clew.model.turn import TokenUsage

T_co = TypeVar("T_co", covariant=True)

Ending: TypeAlias = Literal["answered", "suspended", "limit", "refused", "cut"]
"""How a run ended: with an answer; with calls that wait for a decision; at a limit of the run; with a model that will not
answer; with an answer that did not fit `max_tokens` or the model's window."""


class Result(Struct, Generic[T_co], frozen=True, kw_only=True):
    """The result of a run, and how the run ended.

    `output` is the answer, as text or as the type that was asked for; None unless it `answered`. `pending` are calls that
    have no results; `resume` continues with them. `waiting` are calls that need a decision first, also those of sub-agents.

    >>> Result(ending="answered", thread="t1", output="Rain.").output
    'Rain.'
    """

    ending: Ending
    thread: str
    output: T_co | None = None
    message: Message | None = None
    """The last answer."""
    pending: tuple[ToolCall, ...] = ()
    waiting: tuple[ToolCall, ...] = ()
    limit: Reached | None = None
    """The limit that it ended at."""
    steps: int = 0
    usage: TokenUsage = TokenUsage()
    cost: Cost | None = None
    """None if no price is known."""


class StepStarted(Struct, frozen=True):
    """A request is sent to the model. Steps count from 1.

    >>> StepStarted(1, "claude", "claude-opus-5-5").backend
    'claude'
    """

    step: int
    backend: str
    model: str


class StepRetried(Struct, frozen=True):
    """The answer failed. It is requested again after this many seconds.

    >>> StepRetried(1, ClewError("no room"), 2.0).wait
    2.0
    """

    step: int
    error: ClewError
    wait: float


class StepFinished(Struct, frozen=True):
    """The answer is complete and stored.

    >>> StepFinished(1, Message(role="assistant", content="Rain."), None, None).message.content
    'Rain.'
    """

    step: int
    message: Message
    turn: Turn | None
    cost: Cost | None
    """Of this step; None if no price is known. `turn.usage` has the tokens."""


class CallProposed(Struct, frozen=True):
    """The model wants to call a tool.

    >>> CallProposed(1, ToolCall(id="t1", name="weather")).call.name
    'weather'
    """

    step: int
    call: ToolCall


class CallApproved(Struct, frozen=True):
    """The call was approved, and will run.

    >>> CallApproved(ToolCall(id="t1", name="weather")).call.id
    't1'
    """

    call: ToolCall


class CallDenied(Struct, frozen=True):
    """The call was denied, and the model reads why.

    >>> CallDenied(ToolCall(id="t1", name="delete"), "not today").reason
    'not today'
    """

    call: ToolCall
    reason: str = ""


class CallSuspended(Struct, frozen=True):
    """The call waits for a decision. Until then no call of its step runs.

    >>> CallSuspended(ToolCall(id="t1", name="delete")).call.name
    'delete'
    """

    call: ToolCall


class ToolStarted(Struct, frozen=True):
    """The function of a call has started.

    >>> ToolStarted(ToolCall(id="t1", name="weather")).call.name
    'weather'
    """

    call: ToolCall


class ToolFinished(Struct, frozen=True):
    """The output that the model will read, and how many seconds the call took.

    >>> ToolFinished(ToolCall(id="t1", name="weather"), "rain", is_error=False, seconds=0.1).output
    'rain'
    """

    call: ToolCall
    output: JsonValue
    is_error: bool
    seconds: float


class FromAgent(Struct, frozen=True):
    """An event of a sub-agent, with the call that started the sub-agent.

    >>> call = ToolCall(id="t1", name="researcher")
    >>> FromAgent("researcher", call, TextDelta("Found it.")).agent
    'researcher'
    """

    agent: str
    call: ToolCall
    event: AgentEvent


class OutputRejected(Struct, frozen=True):
    """The answer does not have the requested type. The model reads the reason and is asked again.

    >>> OutputRejected(3, "Expected `int`, got `str` - at `$.degrees`").step
    3
    """

    step: int
    why: str


class LimitReached(Struct, frozen=True):
    """The run ends because it reached a limit.

    >>> str(LimitReached(Reached("steps", 10, 10)).limit)
    'the limit of 10 steps is reached'
    """

    limit: Reached


class RunEnded(Struct, frozen=True):
    """The last event of a run.

    >>> RunEnded(Result(ending="answered", thread="t1", output="Rain.")).result.output
    'Rain.'
    """

    result: Result[Any]


AgentEvent: TypeAlias = (
    StepStarted
    | StepRetried
    | StepFinished
    | ThinkingDelta
    | TextDelta
    | Compacted
    | CallProposed
    | CallApproved
    | CallDenied
    | CallSuspended
    | ToolStarted
    | ToolFinished
    | FromAgent
    | OutputRejected
    | LimitReached
    | RunEnded
)
"""Every event of a run."""
