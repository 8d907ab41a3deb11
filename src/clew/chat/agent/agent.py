"""AsyncAgent: a model with tools, for programs with an event loop."""

from __future__ import annotations

import copy
import inspect
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Generic, Protocol, Self, TypeAlias, TypedDict, TypeVar, Unpack, overload, runtime_checkable

from clew.chat.agent.approval import Approval, Decision
from clew.chat.agent.course import Course, Start
from clew.chat.agent.events import AgentEvent, Result
from clew.chat.agent.limits import Limits, Spending
from clew.chat.agent.plan import Plan, prepare
from clew.chat.agent.run import AsyncRun
from clew.chat.agent.starting import asked, resumed
from clew.chat.agent.structured import form_of
from clew.chat.agent.subagents import agent_tool
from clew.chat.agent.tools import Tool, tool_of
from clew.chat.agent.working import Tell, Working
from clew.chat.contents import Content
from clew.chat.conversation import AsyncConversation, OnOverflow, check_overflow
from clew.chat.opening import Where
from clew.chat.signatures import shows_keywords
from clew.errors import RequestInvalid, SettingsInvalid
from clew.model.json import JsonObject

__all__ = ["AsyncAgent", "Listen", "Place", "Planned", "Toolable", "Ways", "plan_of"]

T = TypeVar("T")

Listen: TypeAlias = Callable[[AgentEvent], object]
"""Told of every event; one that is a coroutine is awaited."""


@runtime_checkable
class Planned(Protocol):
    """An agent of either kind, as the tool of another."""

    @property
    def plan(self) -> Plan: ...


Toolable: TypeAlias = Callable[..., object] | Tool | Planned
"""What can be a tool: a function, what `tool` made of one, or another agent."""


class Ways(TypedDict, total=False):
    """What an agent is made of."""

    name: str
    description: str
    system: str | Sequence[JsonObject]
    tools: Sequence[Toolable]
    model: str
    backend: str
    max_tokens: int
    thinking: JsonObject | None
    effort: str
    on_overflow: OnOverflow
    limits: Limits
    approve: Approval | None
    retries: int


class Place(TypedDict, total=False):
    """Where an agent's conversations are, as `AsyncConversation.open` takes it."""

    home: str | Path | None
    config: str | Path | None
    environ: Mapping[str, str] | None
    backends: Mapping[str, Mapping[str, object]] | None
    url: str
    key: str


class AsyncAgent(Generic[T]):
    """A model, the tools that it may call, and a loop that runs them until there is an answer.

    `tools` are functions (`clew.tool` says more of one) and other agents. `output` is the type of the answer: a dataclass,
    a struct, whatever JSON has a form for; without it, text. `limits` say how far a run may go, `approve` who lets calls run
    that want it, `retries` how often a model call that failed is tried again. `name` and `description` are for an agent that
    is another's tool. The rest is as for `AsyncConversation.open`.

    >>> import asyncio
    >>> from clew import AsyncAgent
    >>> from clew.testing import Simulator
    >>> async def read(path: str) -> str:
    ...     '''Reads a file.'''
    ...     return "127.0.0.1 localhost"
    >>> agent = AsyncAgent(model="claude-opus-5-5", tools=[read])
    >>> with Simulator() as claude:
    ...     result = asyncio.run(agent.run("Look!", home=claude.home()))
    >>> result.ending, result.output
    ('answered', 'I read: “127.0.0.1 localhost”')
    """

    @overload
    def __init__(self: AsyncAgent[str], *, output: None = None, **ways: Unpack[Ways]) -> None: ...
    @overload
    def __init__(self, *, output: type[T], **ways: Unpack[Ways]) -> None: ...
    @shows_keywords(Ways, Plan)
    def __init__(self, *, output: Any = None, **ways: Unpack[Ways]) -> None:
        """Raises SettingsInvalid for tools that no model could call."""
        self._plan = plan_of(output, ways)
        self._conversation: AsyncConversation | None = None
        self._current: AsyncRun[T] | None = None
        """The run that is under way on its conversation."""

    @property
    def plan(self) -> Plan:
        """What it is."""
        return self._plan

    @property
    def conversation(self) -> AsyncConversation:
        """What it works on: `use` lets another backend go on, also in the middle of a run. Raises RequestInvalid unless it
        was opened."""
        if self._conversation is None:
            raise RequestInvalid("this agent has no conversation yet: `async with agent.open() as agent`")
        return self._conversation

    @shows_keywords(Place, Where)
    @asynccontextmanager
    async def open(self, thread: str = "", **place: Unpack[Place]) -> AsyncGenerator[Self]:
        """The same agent on a conversation, for several runs: a new one, or the one with this thread's id."""
        async with AsyncConversation.open(thread, on_overflow=self._plan.on_overflow, **place) as conversation:
            bound = self.on(conversation)
            try:
                yield bound
            finally:
                await bound._left()

    def on(self, conversation: AsyncConversation) -> Self:
        """The same agent on a conversation that is open already. Raises SettingsInvalid for a backend that there is not."""
        if self._plan.backend:
            conversation.use(self._plan.backend)
        bound = copy.copy(self)
        bound._conversation = conversation
        return bound

    @shows_keywords(Place, Where)
    async def run(
        self, prompt: Content, *, thread: str = "", listen: Listen | None = None, **place: Unpack[Place]
    ) -> Result[T]:
        """Ask, run what tools it takes, and give what came of it.

        An agent that is not open opens the thread, or a new one, for this run. Raises BackendError and its kin if a model
        call fails for good; `resume` tries it again.
        """
        async with self.stream(prompt, thread=thread, **place) as run:
            async for event in run:
                heard = listen(event) if listen else None
                if inspect.isawaitable(heard):
                    await heard
            return await run.result()

    @shows_keywords(Place, Where)
    def stream(self, prompt: Content, *, thread: str = "", **place: Unpack[Place]) -> AsyncRun[T]:
        """The same, told as it happens: iterate it."""
        return self._run(lambda conversation: asked(conversation, prompt), {}, thread, place)

    @shows_keywords(Place, Where)
    def resume(
        self, decisions: Mapping[str, Decision] | None = None, *, thread: str = "", **place: Unpack[Place]
    ) -> AsyncRun[T]:
        """Go on where the thread's last run ended: at a limit, with calls that wait for decisions, by a failure or a crash.

        `decisions` are by the ids of the calls, those of sub-agents among them. Iterate it, or await it.
        """
        return self._run(resumed, decisions or {}, thread, place)

    def _run(self, start: Start, made: Mapping[str, Decision], thread: str, place: Place) -> AsyncRun[T]:
        if self._conversation is not None and (thread or place):
            raise RequestInvalid("this agent is open: its runs are on its own conversation")

        async def work(conversation: AsyncConversation, tell: Tell) -> Result[T]:
            prepare(self._plan, conversation)
            working = Working(self._plan, conversation, Spending(self._plan.limits), tell, made)
            return await Course(working).run(start)

        run: AsyncRun[T] = AsyncRun(lambda: self._opening(run, thread, place), work)
        return run

    @asynccontextmanager
    async def _opening(self, run: AsyncRun[T], thread: str, place: Place) -> AsyncGenerator[AsyncConversation]:
        """What a run works on. Raises RequestInvalid while another one does."""
        if self._conversation is None:
            async with AsyncConversation.open(thread, on_overflow=self._plan.on_overflow, **place) as conversation:
                yield self.on(conversation).conversation
            return
        if self._current is not None:
            raise RequestInvalid("a run is under way on this conversation: wait for its end, or stop it")
        self._current = run
        try:
            yield self._conversation
        finally:
            self._current = None

    async def _left(self) -> None:
        """A run that nobody came back to is stopped."""
        if self._current is not None:
            await self._current.stop()


def plan_of(output: Any, ways: Ways) -> Plan:
    """What an agent is. Raises SettingsInvalid for tools that no model could call, or that have one name; and for what is no
    choice, or no limits."""
    _check_choices(ways.get("limits", Limits()), ways.get("on_overflow", "error"))
    tools = [_tool(each) for each in ways.get("tools", ())]
    if twice := _twice(tool.name for tool in tools):
        raise SettingsInvalid(f"two tools are called {twice!r}; say `@tool(name=…)`", key=twice)
    rest: dict[str, Any] = {name: value for name, value in ways.items() if name != "tools"}
    return Plan(tools=tuple(tools), form=None if output in (None, str) else form_of(output), **rest)


def _check_choices(limits: object, on_overflow: str) -> None:
    check_overflow(on_overflow)
    if not isinstance(limits, Limits):
        raise SettingsInvalid(f"limits are `Limits(steps=…)`, not a {type(limits).__name__}", key="limits")


def _tool(each: Toolable) -> Tool:
    if isinstance(each, Tool):
        return each
    return agent_tool(each.plan) if isinstance(each, Planned) else tool_of(each)


def _twice(names: Iterable[str]) -> str:
    seen: set[str] = set()
    return next((name for name in names if name in seen or seen.add(name)), "")
