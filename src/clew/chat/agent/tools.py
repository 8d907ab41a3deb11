"""Tools: Python functions that a model may call.

    @tool(timeout=10, approval=True)
    def delete(path: Path) -> str:
        \"\"\"Deletes a file.\"\"\"

What a model is told of a tool comes from the function: its name, its docstring, its types. The decorator says what a
signature cannot: whether somebody has to approve a call, how long it may take, and whether it may be run twice.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar, cast, overload

from msgspec import Struct

from clew.chat.agent.schema import Arguments, arguments_of, spoken
from clew.chat.messages import ToolCall
from clew.errors import SettingsInvalid
from clew.model.json import JsonObject

__all__ = ["NeedsApproval", "Tool", "ToolFailed", "checked_name", "tool", "tool_of"]

F = TypeVar("F", bound=Callable[..., object])

NeedsApproval: TypeAlias = bool | Callable[[ToolCall], bool]
"""Whether a call has to be approved: always, never, or as the call is."""

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_MARK: Final = "__clew_tool__"


class ToolFailed(Exception):
    """Raise it in a tool to tell the model, in these words, that it did not work. Another exception does that too, with its
    type's name before its words.

    >>> raise ToolFailed("there is no such city; ask for one in Italy")
    Traceback (most recent call last):
    ...
    clew.chat.agent.tools.ToolFailed: there is no such city; ask for one in Italy
    """


class Tool(Struct, frozen=True, kw_only=True, eq=False):
    """A function as a model may call it. `tool` makes one of a function; `Agent` does so by itself.

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
    """Has somebody to approve a call before it runs?"""
    timeout: float | None = None
    """Seconds that a call may take; None for as many as the run has."""
    retries: int = 0
    """How many times more a call that failed is tried, before the model hears of it."""
    idempotent: bool = False
    """Does twice do the same as once? Then a call that a crash interrupted is run again."""
    may_wait: bool = False
    """May it be put off while it runs? An agent may whose own tools want approval."""

    @classmethod
    def of(cls, function: Callable[..., object]) -> Tool:
        """The tool that a function is, as its decorator says. Raises SettingsInvalid for what no model could call."""
        return tool_of(function)

    @property
    def definition(self) -> JsonObject:
        """As the Messages API has it."""
        return {"name": self.name, "description": self.description, "input_schema": self.arguments.schema}

    def needs_approval(self, call: ToolCall) -> bool:
        """Has somebody to approve this very call?"""
        return self.approval(call) if callable(self.approval) else self.approval


class _Said(Struct, frozen=True, kw_only=True):
    """What the decorator says."""

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
def tool(function: Any = None, /, **said: Any) -> Any:
    """Say of a function what its signature cannot. It stays the function that it was.

    `name` and `description` are instead of the function's own. `approval`: somebody approves each call first, or those for
    which a function of the call says so. `timeout` in seconds. `retries`: how many times more a call that failed is tried.
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
    words = _Said(**said)

    def marked(own: F) -> F:
        held = partial(own) if _is_bound(own) else own
        setattr(held, _MARK, words)
        return cast(F, held)

    return marked if function is None else marked(function)


def _is_bound(function: object) -> bool:
    """A method of one object can hold no mark of its own, nor can what is built in."""
    return inspect.ismethod(function) or inspect.isbuiltin(function)


def checked_name(name: str) -> str:
    """The name, if a tool can have it. Raises SettingsInvalid."""
    if not _NAME.fullmatch(name):
        why = "letters, digits, _ and -, 128 at most; say `name=…`"
        raise SettingsInvalid(f"a tool cannot be called {name!r}: {why}", key=name)
    return name


def tool_of(function: Callable[..., object]) -> Tool:
    """The tool that a function is. Raises SettingsInvalid for what no model could call."""
    said: _Said = getattr(function, _MARK, None) or _Said()
    name = said.name or _name_of(function)
    arguments = arguments_of(function, checked_name(name))
    return Tool(
        function=function,
        name=name,
        description=said.description or arguments.summary,
        arguments=arguments,
        approval=said.approval,
        timeout=said.timeout,
        retries=said.retries,
        idempotent=said.idempotent,
    )


def _name_of(function: Callable[..., object]) -> str:
    """A function's own, also in a partial; an object that can be called has its type's."""
    words = spoken(function)
    return type(function).__name__ if words.__name__ == "__call__" else words.__name__
