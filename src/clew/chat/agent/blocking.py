"""Agent: the asynchronous agent for programs without an event loop, on a loop in a thread of its own."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, Unpack, cast, overload

from clew.chat.agent.agent import AgentOptions, AsyncAgent, Listen
from clew.chat.agent.events import AgentEvent, Result
from clew.chat.agent.plan import AgentPlan
from clew.chat.agent.run import AsyncRun
from clew.chat.agent.tools import Decision
from clew.chat.blocking import Conversation, Loop
from clew.chat.messages import Content
from clew.chat.opening import OpenOptions, Where, shows_keywords
from clew.errors import RequestInvalid

T = TypeVar("T")


class Run(Generic[T]):
    """One run of an agent. It starts when you iterate it or ask for its `result`.

    >>> from clew import Agent
    >>> from clew.testing import Simulator
    >>> with Simulator() as claude:
    ...     run = Agent(model="claude-opus-5-5").stream("Hello!", home=claude.home())
    ...     kinds = [type(event).__name__ for event in run]
    >>> kinds[0], kinds[-1], run.result().ending
    ('StepStarted', 'RunEnded', 'answered')
    """

    def __init__(self, run: AsyncRun[T], loop: Loop | None) -> None:
        """On this loop, or without one on a loop of its own, which ends with the run."""
        self._run = run
        self._loop = loop
        self._own: Loop | None = None
        self._end: weakref.finalize[Any, Any] | None = None
        """Ends its own loop: when it is called, or when the run is garbage collected."""

    @property
    def conversation(self) -> Conversation:
        """Its conversation. Raises RequestInvalid before the run began, and after its end if the run opened it."""
        loop = self._loop or self._own
        if loop is None:
            raise RequestInvalid("the run has not begun, or is over")
        return Conversation(self._run.conversation, loop)

    def __iter__(self) -> Iterator[AgentEvent]:
        return self

    def __next__(self) -> AgentEvent:
        """Raises BackendError if a model call fails for good. Ctrl-C stops the run, and keeps finished blocks.

        Everything that was opened for this run alone is closed at its end.
        """
        if self._run.is_over:
            raise StopIteration
        try:
            loop = self._loop or self._own
            if loop is None:
                loop = self._own = Loop().__enter__()
                self._end = weakref.finalize(self, _end_loop, self._run, loop)
            event = loop.next(self._run)
        except BaseException:
            self.stop()
            raise
        if event is None:
            self._leave()
            raise StopIteration
        return event

    def result(self) -> Result[T]:
        """Run to the end, and return the result. Raises as iterating does, and RequestInvalid if it was stopped."""
        for _ in self:
            pass
        return self._run.outcome

    def stop(self) -> None:
        """Stop the run. Finished blocks are stored when this returns."""
        if self._loop is not None:
            self._loop.call(self._run.stop())
        self._leave()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def _leave(self) -> None:
        self._own = None
        if self._end is not None:
            self._end()


def _end_loop(run: AsyncRun[Any], loop: Loop) -> None:
    if not loop.is_current:  # a loop cannot wait for its own end
        loop.call(run.stop())
        loop.__exit__(None, None, None)


class Agent(Generic[T]):
    """A model, the tools that it may call, and a loop that runs them until there is an answer.

    It takes what `AsyncAgent` takes, which is the same for programs with an event loop.

    >>> from clew import Agent
    >>> from clew.testing import Simulator
    >>> def read(path: str) -> str:
    ...     '''Reads a file.'''
    ...     return "127.0.0.1 localhost"
    >>> agent = Agent(model="claude-opus-5-5", tools=[read])
    >>> with Simulator() as claude:
    ...     result = agent.run("Look!", home=claude.home())
    >>> result.ending, result.output, result.steps
    ('answered', 'I read: “127.0.0.1 localhost”', 2)
    """

    @overload
    def __init__(self: Agent[str], *, output: None = None, **options: Unpack[AgentOptions]) -> None: ...
    @overload
    def __init__(self, *, output: type[T], **options: Unpack[AgentOptions]) -> None: ...
    @shows_keywords(AgentOptions, AgentPlan)
    def __init__(self, *, output: Any = None, **options: Unpack[AgentOptions]) -> None:
        """Raises SettingsInvalid for tools that no model could call."""
        self._agent = cast(AsyncAgent[T], AsyncAgent(output=output, **options))
        self._loop: Loop | None = None

    @property
    def plan(self) -> AgentPlan:
        """The plan of this agent."""
        return self._agent.plan

    @property
    def conversation(self) -> Conversation:
        """Its conversation: `use` switches to another backend, also in the middle of a run. Raises RequestInvalid unless
        the agent is open."""
        if self._loop is None:
            raise RequestInvalid("this agent has no conversation yet: `with agent.open() as agent`")
        return Conversation(self._agent.conversation, self._loop)

    @shows_keywords(OpenOptions, Where)
    @contextmanager
    def open(self, thread: str = "", **place: Unpack[OpenOptions]) -> Generator[Self]:
        """The same agent on a conversation, for several runs: a new one, or the one with this thread's id."""
        with Loop() as loop:
            opening = self._agent.open(thread, **place)
            bound = copy.copy(self)
            bound._agent, bound._loop = loop.call(opening.__aenter__()), loop
            try:
                yield bound
            finally:
                loop.call(opening.__aexit__(None, None, None))

    @shows_keywords(OpenOptions, Where)
    def run(
        self, prompt: Content, *, thread: str = "", listen: Listen | None = None, **place: Unpack[OpenOptions]
    ) -> Result[T]:
        """Ask, run the tools, and return the result: see `AsyncAgent.run`."""
        with self.stream(prompt, thread=thread, **place) as run:
            for event in run:
                if listen:
                    listen(event)
            return run.result()

    @shows_keywords(OpenOptions, Where)
    def stream(self, prompt: Content, *, thread: str = "", **place: Unpack[OpenOptions]) -> Run[T]:
        """Begin a run whose events the caller iterates. Otherwise as `run`."""
        return Run(self._agent.stream(prompt, thread=thread, **place), self._loop)

    @shows_keywords(OpenOptions, Where)
    def resume(
        self, decisions: Mapping[str, Decision] | None = None, *, thread: str = "", **place: Unpack[OpenOptions]
    ) -> Run[T]:
        """Continue where the thread's last run ended: see `AsyncAgent.resume`. Iterate it, or ask for its `result`."""
        return Run(self._agent.resume(decisions, thread=thread, **place), self._loop)
