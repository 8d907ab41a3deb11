"""What every part of a run needs: the agent's plan, its conversation, and the claim on the calls that it runs.

A process can die between a call and its result. A later run finds calls without results and must know whether they were
begun: if not, they run as usual; if so, only calls that may run twice do. Two runs may also continue one thread at the same
time: then one of them runs the calls, and the other gets `TakenElsewhere`. So before the first call runs, the ids of the
answer, of the run and of its process are stored beside the thread (`CallClaim`); a gateway elsewhere stores them too.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Final, TypeAlias

from msgspec import Struct, field, structs

from clew.backends.row import Backend
from clew.chat.agent.approval import Approval, Decision
from clew.chat.agent.events import AgentEvent
from clew.chat.agent.limits import Limits, Spending
from clew.chat.agent.structured import OutputForm
from clew.chat.agent.tools import Tool
from clew.chat.conversation import AsyncConversation
from clew.chat.local import LocalThreadService
from clew.chat.messages import ToolCall
from clew.chat.opening import OnOverflow
from clew.chat.request import Wishes
from clew.chat.service import Claim
from clew.errors import RequestInvalid
from clew.model.facts.models import profile_for
from clew.model.json import JsonObject


class AgentPlan(Struct, frozen=True, kw_only=True, eq=False):
    """What an agent is, apart from any conversation."""

    name: str = "agent"
    description: str = ""
    system: str | Sequence[JsonObject] = ""
    tools: tuple[Tool, ...] = ()
    model: str = ""
    backend: str = ""
    max_tokens: int = 16_000
    thinking: JsonObject | None = None
    effort: str = ""
    on_overflow: OnOverflow = "error"
    limits: Limits = Limits()
    approve: Approval | None = None
    retries: int = 2
    """How many more times a failed model call is tried, and an answer of the wrong type is asked for again."""
    form: OutputForm | None = None
    """The type of its answers; None for text."""

    @property
    def prompt(self) -> str | Sequence[JsonObject]:
        """The system prompt, with the form of the answer."""
        if self.form is None:
            return self.system
        if isinstance(self.system, str):
            return f"{self.system}\n\n{self.form.words}" if self.system else self.form.words
        return [*self.system, {"type": "text", "text": self.form.words}]


def prepare(plan: AgentPlan, conversation: AsyncConversation) -> None:
    """Give a conversation the parameters of this agent."""
    before = conversation.wishes
    conversation.wishes = Wishes(
        model=plan.model or before.model,
        system=plan.prompt or before.system,
        tools=[tool.definition for tool in plan.tools],
        max_tokens=plan.max_tokens,
        thinking=plan.thinking or before.thinking,
        effort=plan.effort or before.effort,
    )


def ask_for_schema(form: OutputForm | None, conversation: AsyncConversation) -> None:
    """Put the schema of the output into the next request if the model can follow one, else take it out."""
    schema = None
    if form is not None:
        row = backend_of(conversation, conversation.backend)
        # For Chat Completions the translation knows what the backend can follow.
        able = profile_for(conversation.model).structured or (row is not None and row.dialect == "openai-chat")
        schema = form.strict if able else None
    if conversation.wishes.schema != schema:
        conversation.wishes = structs.replace(conversation.wishes, schema=schema)


def backend_of(conversation: AsyncConversation, name: str) -> Backend | None:
    """The settings of a backend. A conversation over a gateway knows only the names of its backends."""
    service = conversation.service
    return service.runtime.current.settings.backends.get(name) if isinstance(service, LocalThreadService) else None


# The claim on calls

_ACTIVE_RUNS: Final[set[str]] = set()
"""The runs of this process that have claimed calls and are not over."""


class TakenElsewhere(RequestInvalid):
    """Another run executes the calls that this run would continue with, or has done so. It is no failure of a tool."""

    def __init__(self) -> None:
        super().__init__(
            "another run of this thread has taken these calls, so none of them was run here: "
            "wait for its end, then open the thread again"
        )


class CallClaim:
    """One run's claim on the calls of an answer."""

    def __init__(self) -> None:
        self._run = os.urandom(8).hex()
        self._turn = ""
        self._earlier_run = ""

    async def was_begun(self, conversation: AsyncConversation, turn: str) -> bool:
        """Did another run begin the calls of this turn's answer? Raises TakenElsewhere while that run is active."""
        found = await conversation.service.calls_begun()
        if found.turn != turn:
            return False
        if found.lives or found.run in _ACTIVE_RUNS:
            raise TakenElsewhere
        self._earlier_run = found.run
        return True

    async def take(self, conversation: AsyncConversation, turn: str) -> None:
        """Store that the calls of this turn's answer are begun. Raises TakenElsewhere, and StoreError if that fails."""
        self._turn = turn
        _ACTIVE_RUNS.add(self._run)
        if not await conversation.service.take_calls(self._claim):
            raise TakenElsewhere

    async def leave(self, conversation: AsyncConversation) -> None:
        """Store that the run is over. Its calls without results still count as begun."""
        if self._run in _ACTIVE_RUNS:
            _ACTIVE_RUNS.discard(self._run)
            await conversation.service.leave_calls(self._claim)

    async def end(self, conversation: AsyncConversation) -> None:
        """Store that no begun call is left."""
        await conversation.service.end_calls(self._claim)
        _ACTIVE_RUNS.discard(self._run)

    @property
    def _claim(self) -> Claim:
        return Claim(self._run, self._turn, self._earlier_run)


# The context of a run

Emit: TypeAlias = Callable[[AgentEvent], Awaitable[None]]
"""Sends an event to the listener, and waits until the listener wants the next one."""


class RunContext(Struct, frozen=True, eq=False):
    """An agent on a conversation: what it has spent, where its events go, and the decisions that are there."""

    plan: AgentPlan
    conversation: AsyncConversation
    spending: Spending
    emit: Emit
    decisions: Mapping[str, Decision] = {}
    """Decisions by the ids of calls, its own and those of sub-agents."""
    claim: CallClaim = field(default_factory=CallClaim)


class CallContext(Struct, frozen=True, eq=False):
    """The call that a tool runs for, and the turn whose answer has the call."""

    run: RunContext
    call: ToolCall
    turn: str


CURRENT_CALL: ContextVar[CallContext] = ContextVar("clew_current_call")
"""For tools that are agents: they need the run that called them."""
