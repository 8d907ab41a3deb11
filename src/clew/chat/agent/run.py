"""A run of an agent while it is under way: iterate it for its events, or await it for its result.

The work is done in a task of its own. The task waits at each event until the listener asks for the next one, so a listener
that changes the backend, or stops the run, does so exactly there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextlib import AbstractAsyncContextManager
from typing import Any, Generic, Self, TypeAlias, TypeVar

from clew.chat.agent.context import Emit
from clew.chat.agent.events import AgentEvent, Result
from clew.chat.conversation import AsyncConversation
from clew.chat.lifetimes import Stoppable
from clew.errors import RequestInvalid

T = TypeVar("T")

Work: TypeAlias = Callable[[AsyncConversation, Emit], Awaitable[Result[T]]]


class AsyncRun(Stoppable, Generic[T]):
    """One run of an agent. Nothing happens before it is iterated or awaited.

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
        """From its parts; an agent makes them."""
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
        """Its conversation. Raises RequestInvalid before the run began."""
        if self._conversation is None:
            raise RequestInvalid("the run has not begun: iterate it, or await it")
        return self._conversation

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> AgentEvent:
        """Raises BackendError and its kin if a model call fails for good: the agent's `resume` tries it again."""
        try:
            event = await self._next()
        except asyncio.CancelledError:
            await self.stop()
            raise
        if event is None:
            raise StopAsyncIteration
        return event

    async def result(self) -> Result[T]:
        """Run to the end, and return the result. Raises as iterating does, and RequestInvalid if it was stopped."""
        async for _ in self:
            pass
        return self.outcome

    @property
    def is_over(self) -> bool:
        """Are there no more events?"""
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

    async def _next(self) -> AgentEvent | None:
        if self._is_over:
            return None
        if self._task is None:
            self._task = asyncio.create_task(self._run_work())
            self._task.add_done_callback(lambda _: self._events.put_nowait(None))
        if not self._is_taken:
            self._is_taken = True
            self._events.task_done()
        event = await self._events.get()
        self._is_taken = False
        if event is None:
            self._is_over = True
            if not self._task.cancelled():
                self._task.result()  # raises what it failed with
        return event

    async def _run_work(self) -> Result[T]:
        async with self._opening() as conversation:
            self._conversation = conversation
            return await self._work(conversation, self._emit)

    async def _emit(self, event: AgentEvent) -> None:
        async with self._emitting:  # tools that run side by side emit one after another
            self._events.put_nowait(event)
            await self._events.join()
