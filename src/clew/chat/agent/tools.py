"""Tools: Python functions that a model may call, how such a function is called, and who approves a call.

    @tool(timeout=10, approval=True)
    def delete(path: Path) -> str:
        \"\"\"Deletes a file.\"\"\"

A model sees of a tool what the function says: its name, its docstring, its types. The decorator says what a signature
cannot: whether a person must approve a call, how long it may take, and whether it may run twice.

A coroutine function runs on the event loop, a plain function in a daemon thread. The loop's own executor is joined when the
loop ends, so a tool that hangs would block that end; a daemon thread is left behind.

    async def approve(call: ToolCall, tool: Tool) -> Decision: ...

Only `True` lets a call run. `False`, `Denied("why")` and any other value do not, and the model reads that. `Later()` says
that the decision takes longer than the program: the run ends with the call pending, and `resume` continues once there is a
decision. A call that needs approval where nobody can be asked is put off in the same way, and never run. When a call of a
sub-agent is put off, the agent that called the sub-agent is suspended and resumed with it.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import re
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, Final, ParamSpec, TypeAlias, TypeVar, cast, overload

from msgspec import Struct

from clew.chat.agent.schema import Arguments, arguments_of, documented_function
from clew.chat.messages import ToolCall
from clew.errors import SettingsInvalid
from clew.model.json import JsonObject

F = TypeVar("F", bound=Callable[..., object])
P = ParamSpec("P")
T = TypeVar("T")

NeedsApproval: TypeAlias = bool | Callable[[ToolCall], bool]
"""Must a call be approved: always, never, or decided by a function of the call."""

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_MARK: Final = "__clew_tool__"


class ToolFailed(Exception):
    """Raise this in a tool to tell the model, with this text, that the call failed. Any other exception does the same, with
    the name of its type before its text.

    >>> raise ToolFailed("there is no such city; ask for one in Italy")
    Traceback (most recent call last):
    ...
    clew.chat.agent.tools.ToolFailed: there is no such city; ask for one in Italy
    """


class Tool(Struct, frozen=True, kw_only=True, eq=False):
    """A function that a model can call. `tool` makes one from a function; `Agent` does that itself.

    >>> def weather(city: str, days: int = 1) -> str:
    ...     '''Tells the weather.'''
    >>> Tool.of(weather).definition["input_schema"]["required"]
    ['city']
    """

    function: Callable[..., object | Awaitable[object]]
    name: str
    description: str
    arguments: Arguments
    approval: NeedsApproval = False
    """Must a person approve a call before it runs?"""
    timeout: float | None = None
    """Seconds that a call may take; None for no limit but the run's own."""
    retries: int = 0
    """How many more times a failed call is tried, before the model reads of it."""
    idempotent: bool = False
    """Has a second run the same effect as one run? Then a call that a crash interrupted is run again."""
    may_wait: bool = False
    """May it be put off while it runs? That is so for an agent whose own tools need approval."""

    @classmethod
    def of(cls, function: Callable[..., object]) -> Tool:
        """The tool that a function is, as its decorator says. Raises SettingsInvalid for what no model could call."""
        return tool_of(function)

    @property
    def definition(self) -> JsonObject:
        """The definition for the Messages API."""
        return {"name": self.name, "description": self.description, "input_schema": self.arguments.schema}

    def needs_approval(self, call: ToolCall) -> bool:
        """Must a person approve this call?"""
        return self.approval(call) if callable(self.approval) else self.approval


class _ToolOptions(Struct, frozen=True, kw_only=True):
    """The arguments of the decorator `tool`."""

    name: str = ""
    description: str = ""
    approval: NeedsApproval = False
    timeout: float | None = None
    retries: int = 0
    idempotent: bool = False


@overload
def tool(function: F, /) -> F: ...
@overload
def tool(
    *,
    name: str = "",
    description: str = "",
    approval: NeedsApproval = False,
    timeout: float | None = None,
    retries: int = 0,
    idempotent: bool = False,
) -> Callable[[F], F]: ...
def tool(function: Any = None, /, **options: Any) -> Any:
    """Describe a function as a tool, with what its signature cannot say. The function itself is not changed.

    `name` and `description` replace the function's own. `approval`: a person approves each call first, or only the calls for
    which a function says so. `timeout` is in seconds. `retries`: how many times a failed call is tried again.
    `idempotent`: a call that a crash interrupted is run again; without it the model is told, and decides.

    >>> @tool(name="delete", approval=True, timeout=5)
    ... def delete_file(path: str) -> str:
    ...     '''Deletes a file for good.'''
    ...     return f"{path} is gone"
    >>> Tool.of(delete_file).name
    'delete'
    >>> delete_file("a.txt")
    'a.txt is gone'
    """
    checked = _ToolOptions(**options)

    def mark(own: F) -> F:
        # A bound method and a builtin cannot hold an attribute, so they are wrapped.
        marked = partial(own) if inspect.ismethod(own) or inspect.isbuiltin(own) else own
        setattr(marked, _MARK, checked)
        return cast(F, marked)

    return mark if function is None else mark(function)


def is_marked(value: object) -> bool:
    """Whether the value is a function that was decorated with `tool`."""
    return hasattr(value, _MARK)


def checked_name(name: str) -> str:
    """The name, if a tool can have it. Raises SettingsInvalid."""
    if not _NAME.fullmatch(name):
        why = "letters, digits, _ and -, 128 at most; say `name=…`"
        raise SettingsInvalid(f"a tool cannot be called {name!r}: {why}", key=name)
    return name


def tool_of(function: Callable[..., object]) -> Tool:
    """The tool that a function is. Raises SettingsInvalid for a function that no model could call."""
    options: _ToolOptions = getattr(function, _MARK, None) or _ToolOptions()
    named = documented_function(function)  # an object that can be called has the name of its type
    name = options.name or (type(function).__name__ if named.__name__ == "__call__" else named.__name__)
    arguments = arguments_of(function, checked_name(name))
    return Tool(
        function=function,
        name=name,
        description=options.description or arguments.summary,
        arguments=arguments,
        approval=options.approval,
        timeout=options.timeout,
        retries=options.retries,
        idempotent=options.idempotent,
    )


async def call_function(function: Callable[P, T | Awaitable[T]], *args: P.args, **given: P.kwargs) -> T:
    """Call a function of either kind, and return its value. Raises what the function raises."""
    if inspect.iscoroutinefunction(inspect.unwrap(function)):
        value = function(*args, **given)
    else:
        value = await _in_thread(partial(function, *args, **given))
    return await cast(Awaitable[T], value) if inspect.isawaitable(value) else cast(T, value)


async def _in_thread(function: Callable[[], T]) -> T:
    done: Future[T] = Future()
    done.set_running_or_notify_cancel()  # it cannot be stopped: a caller that is cancelled leaves it behind
    context = contextvars.copy_context()

    def work() -> None:
        try:
            done.set_result(context.run(function))
        except BaseException as error:
            # No future can hold a StopIteration, and a SystemExit would end the waiting loop.
            is_plain = isinstance(error, Exception) and not isinstance(error, StopIteration)
            done.set_exception(error if is_plain else RuntimeError(f"{type(error).__name__}: {error}"))

    threading.Thread(target=work, name="clew-tool", daemon=True).start()
    return await asyncio.wrap_future(done)


# Approval


class Denied(Struct, frozen=True):
    """A call that may not run. The model reads the reason.

    >>> Denied("not in production").reason
    'not in production'
    """

    reason: str = ""

    def __bool__(self) -> bool:
        """False, so that `if decision` is safe."""
        return False


class Later(Struct, frozen=True):
    """Says that there is no decision yet: the run ends here and can be resumed.

    >>> bool(Later())
    False
    """

    def __bool__(self) -> bool:
        return False


class Suspended(Exception):
    """A run cannot continue: these calls wait for decisions, its own calls or those of sub-agents."""

    def __init__(self, calls: Sequence[ToolCall]) -> None:
        super().__init__(", ".join(call.id for call in calls))
        self.calls = tuple(calls)


Decision: TypeAlias = bool | Denied | Later
Approval: TypeAlias = Callable[[ToolCall, Tool], Decision | Awaitable[Decision]]
"""Called for each call that needs approval, one after another. It may be a plain function that waits for people: it runs in
a thread of its own."""


async def decision_about(
    call: ToolCall, tool: Tool, approve: Approval | None, decisions: Mapping[str, Decision]
) -> tuple[bool, Decision]:
    """Whether a person was asked about a call, and the decision. `decisions` are the earlier ones, by the ids of calls."""
    if call.id in decisions:
        return True, _strict(decisions[call.id])
    if not tool.needs_approval(call):
        return False, True
    return True, _strict(await call_function(approve, call, tool)) if approve else Later()


def _strict(decision: object) -> Decision:
    """Only True lets a call run: a function that returns nothing has not said yes."""
    if decision is True or isinstance(decision, Denied | Later):
        return decision
    return Denied("" if decision is False else f"the approval was neither yes nor no: {decision!r}")
