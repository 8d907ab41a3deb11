"""The page about the library, from what `clew` exports: how each name is called, what it is, and what it has."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from typing import get_overloads

import msgspec

import clew
from clew import errors
from clew.chat.agent.run import TakenElsewhere
from clew.chat.answer import AsyncAnswer
from clew.chat.blocking import Answer
from clew.chat.request import Projected
from clew.settings.schema import meanings_of

_TABLE = Callable[[Sequence[str], Iterable[Sequence[str]]], str]
_GIVEN = (Answer, AsyncAnswer, Projected)
"""What the others give, and nobody makes."""
_MODULES = re.compile(r"\b(?:[a-z_]+\.)+(?=[A-Za-z])")
_BETWEEN = ",\0"
"""Between parameters: types and defaults have commas too."""
_LONGEST_DEFAULT = 40
_LONGEST_LINE = 110
_PARTS = "From its parts"
"""So begins what is said of a constructor that is not for users."""


def python_page(table: _TABLE) -> str:
    named = [(name, getattr(clew, name)) for name in clew.__all__]
    parts = [
        "# Python\n",
        "The names of `from clew import …`, [the values that they return](#what-is-given), and [the errors](#errors). The",
        "[simulator](../howto/test-an-agent-without-a-key.md) is in `clew.testing`.\n",
        *(part for name, value in named for part in _section("##", name, value, table)),
        "## What is given\n",
        *(part for value in _GIVEN for part in _section("###", value.__name__, value, table)),
        "## Errors\n",
        *_errors(table),
    ]
    return "\n".join(parts)


def _section(level: str, name: str, value: object, table: _TABLE) -> Iterator[str]:
    yield f"{level} {name}\n"
    yield f"```text\n{_on_lines(f'{name}{_called(value)}')}\n```\n\nIn `{value.__module__}`.\n"
    yield _docstring(value)
    if isinstance(value, type) and (rows := list(members(value))):
        yield table(("it has", "which is"), rows)


def _errors(table: _TABLE) -> Iterator[str]:
    """The tree is drawn where they are defined."""
    head, tree, rest = inspect.cleandoc(errors.__doc__ or "").split("\n\n")
    kinds = [getattr(errors, name) for name in errors.__all__]
    rows = [(f"`{kind.__name__}`", _said(kind)) for kind in kinds]
    more = (f"`{TakenElsewhere.__name__}`", f"{_said(TakenElsewhere)} A `RequestInvalid`, in `{TakenElsewhere.__module__}`.")
    yield f"{head} In `clew.errors`.\n\n```text\n{inspect.cleandoc(tree)}\n```\n\n{rest}\n"
    yield table(("error", "which is"), [*rows, more])


# What a class has.


def members(kind: type) -> Iterator[tuple[str, str]]:
    """Its fields, properties and methods, in the order of the source, each with what is said of it."""
    meanings = meanings_of(kind) if "__annotations__" in vars(kind) else {}
    yield from ((f"`{name}`", _on_one_line(text)) for name, text in meanings.items() if not name.startswith("_"))
    for name, value in vars(kind).items():
        own = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        if not name.startswith("_") and inspect.isroutine(own):
            called = "" if isinstance(value, property) else _called(getattr(kind, name)).replace(_BETWEEN, ", ")
            wait = "await " if inspect.iscoroutinefunction(own) else ""
            yield f"`{wait}{name}{called}`", _said(own)


def _said(value: object) -> str:
    """Its own docstring without the example."""
    return _on_one_line(inspect.cleandoc(vars(value).get("__doc__") or value.__doc__ or "").partition("\n\n>>> ")[0])


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


# How it is called.


def _called(value: object) -> str:
    """The parameters with their types and defaults."""
    made = value.__init__ if isinstance(value, type) else value
    if not callable(value) or value in _GIVEN or (made.__doc__ or "").startswith(_PARTS):
        return ""
    if isinstance(value, type) and issubclass(value, Exception | Enum):
        return ""
    parameters = [each for each in inspect.signature(_fullest(value)).parameters.values() if each.name != "self"]
    placed = [_parameter(each) for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
    named = [_parameter(each) for each in parameters if each.kind is each.KEYWORD_ONLY]
    rest = [f"**{_parameter(each)}" for each in parameters if each.kind is each.VAR_KEYWORD]
    return f"({_BETWEEN.join([*placed, *(['*'] if named else []), *named, *rest])})"


def _on_lines(called: str) -> str:
    """A parameter on each line, where all of them are too many for one."""
    if len(called) <= _LONGEST_LINE:
        return called.replace(_BETWEEN, ", ")
    head, _, parameters = called.removesuffix(")").partition("(")
    return f"{head}(\n    {f',{chr(10)}    '.join(parameters.split(_BETWEEN))},\n)"


def _fullest(value: Callable[..., object]) -> Callable[..., object]:
    """Of a function with several forms, the one that says most."""
    forms = get_overloads(value) if inspect.isfunction(value) else ()
    return max(forms, key=lambda each: len(inspect.signature(each).parameters), default=value)


def _parameter(parameter: inspect.Parameter) -> str:
    empty = inspect.Parameter.empty
    said = f"{parameter.name}: {_type(parameter.annotation)}" if parameter.annotation is not empty else parameter.name
    if parameter.default is empty:
        return said
    return f"{said} = {_default(parameter.default)}" if ": " in said else f"{said}={_default(parameter.default)}"


def _type(annotation: object) -> str:
    said = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return _MODULES.sub("", said)


def _default(value: object) -> str:
    """As it would be written. What is made again each time, or is too long to read, is not."""
    said = f"{type(value).__name__}()" if isinstance(value, msgspec.Struct) else repr(value)
    return "…" if "<" in said or len(said) > _LONGEST_DEFAULT else said


def _docstring(value: object) -> str:
    """Its own, or that of the module which is all about it; never a base class's."""
    own = value.__dict__.get("__doc__") if isinstance(value, type) else value.__doc__
    parts = inspect.cleandoc(own or sys.modules[value.__module__].__doc__ or "").split("\n\n")
    return "\n\n".join(f"```pycon\n{part}\n```" if part.startswith(">>> ") else part for part in parts) + "\n"
