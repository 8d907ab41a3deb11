"""AsyncAgent: a model with tools, for programs with an event loop; and an agent as the tool of another agent.

Each call of a sub-agent is a thread of its own, in the session of the calling agent. The caller waits for the answer; the
sub-agent's events go to the caller's listener, and its spending counts for both. The caller's approval function decides
about the sub-agent's calls too, unless the sub-agent has its own; if a decision is put off, the caller is suspended as well.
The thread's id is made from the call, so a caller that is resumed, after that or after a crash, finds the sub-agent's thread
and continues it: an existing answer is not asked for again.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Generic, Protocol, Self, TypeAlias, TypedDict, TypeVar, Unpack, overload, runtime_checkable

from msgspec import structs

from clew.chat.agent.events import AgentEvent, FromAgent, Result
from clew.chat.agent.loop import AgentLoop, Start, ask_question, resume_last
from clew.chat.agent.plan import AgentPlan, Limits, Spending, prepare
from clew.chat.agent.run import CURRENT_CALL, AsyncRun, Emit, RunContext
from clew.chat.agent.schema import arguments_of
from clew.chat.agent.structured import output_form_of
from clew.chat.agent.tools import Approval, Decision, Suspended, Tool, ToolFailed, checked_name, tool_of
from clew.chat.conversation import AsyncConversation
from clew.chat.messages import Content
from clew.chat.opening import OnOverflow, OpenOptions, Where, check_overflow, shows_keywords
from clew.chat.request import Wishes
from clew.errors import RequestInvalid, SettingsInvalid
from clew.model.json import JsonObject
from clew.pipeline.ui.structure import derived_id

T = TypeVar("T")

Listen: TypeAlias = Callable[[AgentEvent], object]
"""Called with every event; if it returns an awaitable, that is awaited."""


@runtime_checkable
class HasPlan(Protocol):
    """An agent of either kind, as the tool of another agent."""

    @property
    def plan(self) -> AgentPlan: ...


ToolLike: TypeAlias = Callable[..., object] | Tool | HasPlan
"""Anything that can be a tool: a function, a `Tool`, or another agent."""


class AgentOptions(TypedDict, total=False):
    """The keywords with which an agent is made."""

    name: str
    description: str
    system: str | Sequence[JsonObject]
    tools: Sequence[ToolLike]
    model: str
    backend: str
    max_tokens: int
    thinking: JsonObject | None
    effort: str
    on_overflow: OnOverflow
    limits: Limits
    approve: Approval | None
    retries: int


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
    def __init__(self: AsyncAgent[str], *, output: None = None, **options: Unpack[AgentOptions]) -> None: ...
    @overload
    def __init__(self, *, output: type[T], **options: Unpack[AgentOptions]) -> None: ...
    @shows_keywords(AgentOptions, AgentPlan)
    def __init__(self, *, output: Any = None, **options: Unpack[AgentOptions]) -> None:
        """Raises SettingsInvalid for tools that no model could call, or that share a name, and for wrong values."""
        limits: object = options.get("limits", Limits())
        check_overflow(options.get("on_overflow", "error"))
        if not isinstance(limits, Limits):
            raise SettingsInvalid(f"limits are `Limits(steps=…)`, not a {type(limits).__name__}", key="limits")
        tools: dict[str, Tool] = {}
        for each in options.get("tools", ()):
            tool = each if isinstance(each, Tool) else _agent_tool(each.plan) if isinstance(each, HasPlan) else tool_of(each)
            if tool.name in tools:
                raise SettingsInvalid(f"two tools are called {tool.name!r}; use `@tool(name=…)`", key=tool.name)
            tools[tool.name] = tool
        rest: dict[str, Any] = {name: value for name, value in options.items() if name != "tools"}
        form = None if output in (None, str) else output_form_of(output)
        self._plan = AgentPlan(tools=tuple(tools.values()), form=form, **rest)
        self._conversation: AsyncConversation | None = None
        self._current: AsyncRun[T] | None = None
        """The run that uses the conversation now."""

    @property
    def plan(self) -> AgentPlan:
        """The plan of this agent."""
        return self._plan

    @property
    def conversation(self) -> AsyncConversation:
        """Its conversation: `use` switches to another backend, also in the middle of a run. Raises RequestInvalid unless
        the agent is open."""
        if self._conversation is None:
            raise RequestInvalid("this agent has no conversation yet: `async with agent.open() as agent`")
        return self._conversation

    @shows_keywords(OpenOptions, Where)
    @asynccontextmanager
    async def open(self, thread: str = "", **place: Unpack[OpenOptions]) -> AsyncGenerator[Self]:
        """The same agent on a conversation, for several runs: a new one, or the one with this thread's id."""
        async with AsyncConversation.open(thread, on_overflow=self._plan.on_overflow, **place) as conversation:
            bound = self.on(conversation)
            try:
                yield bound
            finally:
                if bound._current is not None:  # a run that was begun and not iterated to its end
                    await bound._current.stop()

    def on(self, conversation: AsyncConversation) -> Self:
        """The same agent on a conversation that is open already. Raises SettingsInvalid for a backend that there is not."""
        if self._plan.backend:
            conversation.use(self._plan.backend)
        bound = copy.copy(self)
        bound._conversation = conversation
        return bound

    @shows_keywords(OpenOptions, Where)
    async def run(
        self, prompt: Content, *, thread: str = "", listen: Listen | None = None, **place: Unpack[OpenOptions]
    ) -> Result[T]:
        """Ask, run the tools, and return the result.

        An agent that is not open opens the thread, or a new one, for this run. Raises BackendError if a model
        call fails for good; `resume` tries it again.
        """
        async with self.stream(prompt, thread=thread, **place) as run:
            async for event in run:
                returned = listen(event) if listen else None
                if inspect.isawaitable(returned):
                    await returned
            return await run.result()

    @shows_keywords(OpenOptions, Where)
    def stream(self, prompt: Content, *, thread: str = "", **place: Unpack[OpenOptions]) -> AsyncRun[T]:
        """Begin a run whose events the caller iterates. Otherwise as `run`."""
        return self._run(lambda conversation: ask_question(conversation, prompt), {}, thread, place)

    @shows_keywords(OpenOptions, Where)
    def resume(
        self, decisions: Mapping[str, Decision] | None = None, *, thread: str = "", **place: Unpack[OpenOptions]
    ) -> AsyncRun[T]:
        """Continue where the last run of the thread ended: at a limit, with waiting calls, by a failure or a crash.

        `decisions` are by the ids of the calls, those of sub-agents among them. Iterate it, or await it.
        """
        return self._run(resume_last, decisions or {}, thread, place)

    def _run(self, start: Start, decisions: Mapping[str, Decision], thread: str, place: OpenOptions) -> AsyncRun[T]:
        if self._conversation is not None and (thread or place):
            raise RequestInvalid("this agent is open: its runs are on its own conversation")

        async def work(conversation: AsyncConversation, emit: Emit) -> Result[T]:
            prepare(self._plan, conversation)
            context = RunContext(self._plan, conversation, Spending(self._plan.limits), emit, decisions)
            return await AgentLoop(context).run(start)

        run: AsyncRun[T] = AsyncRun(lambda: self._conversation_for(run, thread, place), work)
        return run

    @asynccontextmanager
    async def _conversation_for(
        self, run: AsyncRun[T], thread: str, place: OpenOptions
    ) -> AsyncGenerator[AsyncConversation]:
        """The conversation of a run. Raises RequestInvalid while another run uses it."""
        if self._conversation is None:
            async with AsyncConversation.open(thread, on_overflow=self._plan.on_overflow, **place) as conversation:
                yield self.on(conversation).conversation
            return
        if self._current is not None:
            raise RequestInvalid("a run is under way on this conversation: wait until it ends, or stop it")
        self._current = run
        try:
            yield self._conversation
        finally:
            self._current = None


# Sub-agents


def _agent_tool(plan: AgentPlan) -> Tool:
    """The tool that an agent is. Raises SettingsInvalid for a name that no tool can have."""

    async def delegate(prompt: str) -> object:
        """Gives a task to another agent, and waits for its answer.

        Args:
            prompt: The whole task: the other agent knows nothing else of this conversation.
        """
        # Run it in the call's own thread, with the caller's parameters where the plan has none
        current = CURRENT_CALL.get()
        run, caller = current.run, current.run.conversation
        wishes = Wishes(thinking=caller.wishes.thinking, effort=caller.wishes.effort)
        thread = derived_id("agent", caller.thread, current.turn, current.call.id)
        service = await caller.service.beside(f"{plan.name}-{current.call.id}", thread)
        conversation = AsyncConversation(service, wishes, on_overflow=plan.on_overflow)
        prepare(plan, conversation)
        conversation.use(plan.backend or caller.backend, model=plan.model or ("" if plan.backend else caller.model))

        async def emit(event: AgentEvent) -> None:
            await run.emit(FromAgent(plan.name, current.call, event))

        own = structs.replace(plan, approve=plan.approve or run.plan.approve)
        context = RunContext(own, conversation, Spending(plan.limits, run.spending), emit, run.decisions)
        result = await AgentLoop(context).run(
            lambda opened: resume_last(opened) if opened.turns else ask_question(opened, prompt)
        )
        if result.ending == "answered":
            return result.output
        if result.ending == "suspended":
            raise Suspended(result.waiting)
        text = result.message.content if result.message else None
        last = f" The last that it said: {text}" if text else ""
        raise ToolFailed(f"{plan.name} gave no answer: {result.limit or result.ending}.{last}")

    arguments = arguments_of(delegate, checked_name(plan.name))
    return Tool(
        function=delegate,
        name=plan.name,
        description=plan.description or arguments.summary,
        arguments=arguments,
        idempotent=True,  # a second call continues the first
        may_wait=any(tool.approval or tool.may_wait for tool in plan.tools),
    )
