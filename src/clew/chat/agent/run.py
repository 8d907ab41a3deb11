"""A run of an agent: iterate it for its events, or await it for its result; and what the parts of a run share.

The work is done in a task of its own. The task waits at each event until the listener asks for the next one, so a listener
that changes the backend, or stops the run, does so exactly there.

A process can die between a call and its result. A later run finds calls without results and must know whether they were
begun: if not, they run as usual; if so, only calls that may run twice do. Two runs may also continue one thread at the same
time: then one of them runs the calls, and the other gets `TakenElsewhere`. So before the first call runs, the ids of the
answer, of the run and of its process are stored beside the thread (`CallClaim`); a gateway elsewhere stores them too.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar
from typing import Any, Final, Generic, Self, TypeAlias, TypeVar

from msgspec import Struct, field

from clew.chat.agent.events import AgentEvent, Result
from clew.chat.agent.plan import AgentPlan, Spending
from clew.chat.agent.tools import Decision
from clew.chat.answer import Stoppable
from clew.chat.conversation import AsyncConversation
from clew.chat.messages import ToolCall
from clew.chat.service import Claim
from clew.errors import RequestInvalid

T = TypeVar("T")

# The claim on calls

_ACTIVE_RUNS: Final[set[str]] = set()
"""The runs of this process that have claimed calls and are not over."""


class TakenElsewhere(RequestInvalid):
    """Another run executes the calls that this run would continue with, or has done so. It is no failure of a tool."""

    def __init__(self) -> None:
        super().__init__(
            "another run of this thread has taken these calls, so none of them was run here: "
            "wait until it ends, then open the thread again"
        )


class CallClaim:
    """The claim of one run on the calls of an answer, so that no other run executes them too."""

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


# What the parts of a run share

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


# The run

Work: TypeAlias = Callable[[AsyncConversation, Emit], Awaitable[Result[T]]]


class AsyncRun(Stoppable, Generic[T]):
    """One run of an agent. It starts when it is iterated or awaited.

    >>> import asyncio
    >>> from clew import AsyncAgent
    >>> from clew.testing import Simulator
    >>> async def kinds(agent, home):
    ...     return [type(event).__name__ async for event in agent.stream("Hello!", home=home)]
    >>> with Simulator() as claude:
    ...     names = asyncio.run(kinds(AsyncAgent(model="claude-opus-5-5"), claude.home()))
    >>> names[0], names[-2:]
    ('StepStarted', ['StepFinished', 'RunEnded'])
    """

    def __init__(self, opening: Callable[[], AbstractAsyncContextManager[AsyncConversation]], work: Work[T]) -> None:
        """From its parts: call `stream` of an agent instead."""
        self._opening = opening
        self._work = work
        self._conversation: AsyncConversation | None = None
        self._task: asyncio.Task[Result[T]] | None = None
        self._events: asyncio.Queue[AgentEvent | None] = asyncio.Queue()
        self._emitting = asyncio.Lock()
        self._is_taken = True
        """Has the listener asked for the next event?"""
        self._is_over = False

    @property
    def conversation(self) -> AsyncConversation:
        """The conversation that the run continues. Raises RequestInvalid before the run began."""
        if self._conversation is None:
            raise RequestInvalid("the run has not begun: iterate it, or await it")
        return self._conversation

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> AgentEvent:
        """Raises BackendError if a model call fails for good: the agent's `resume` tries it again."""
        if self._is_over:
            raise StopAsyncIteration
        if self._task is None:
            self._task = asyncio.create_task(self._run_work())
            self._task.add_done_callback(lambda _: self._events.put_nowait(None))
        if not self._is_taken:
            self._is_taken = True
            self._events.task_done()
        try:
            event = await self._events.get()
        except asyncio.CancelledError:
            await self.stop()
            raise
        self._is_taken = False
        if event is None:
            self._is_over = True
            if not self._task.cancelled():
                self._task.result()  # raises what it failed with
            raise StopAsyncIteration
        return event

    async def result(self) -> Result[T]:
        """Run to the end, and return the result. Raises as iterating does, and RequestInvalid if it was stopped."""
        async for _ in self:
            pass
        return self.outcome

    @property
    def is_over(self) -> bool:
        """Whether no more events will come."""
        return self._is_over

    @property
    def outcome(self) -> Result[T]:
        """The result of a run that is over. Raises its failure, and RequestInvalid if it did not reach its end."""
        if self._task is None or not self._task.done() or self._task.cancelled():
            raise RequestInvalid("the run did not come to its end")
        return self._task.result()

    def __await__(self) -> Generator[Any, None, Result[T]]:
        return self.result().__await__()

    async def stop(self) -> None:
        """Stop the run: the present answer is cut, its finished blocks are stored, and tools are cancelled."""
        self._is_over = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run_work(self) -> Result[T]:
        async with self._opening() as conversation:
            self._conversation = conversation
            return await self._work(conversation, self._emit)

    async def _emit(self, event: AgentEvent) -> None:
        async with self._emitting:  # tools that run side by side emit one after another
            self._events.put_nowait(event)
            await self._events.join()
