"""Does a value have the shape of a type? Every place where it does not, with what is allowed there.

The reader that makes the values stops at the first mistake and ignores what a dataclass does not know. A person who mends a
file wants all mistakes at once, and the name that was meant.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, cast, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct, structs

from clew.settings.lines import Key

__all__ = ["Problem", "fields_of", "nearest", "problems_of", "table_in", "words_of"]

_PLACE: Final = re.compile(r" - at `[^`]*`$")
_KINDS: Final = {
    "str": "a text",
    "dict": "a table",
    "object": "a table",
    "list": "a list",
    "array": "a list",
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
}


class Problem(Struct, frozen=True):
    """What is wrong with the value of a key, and what is allowed."""

    key: Key
    says: str


def problems_of(value: object, kind: Any, key: Key = ()) -> Iterator[Problem]:
    """All that keeps `value` from being a `kind`."""
    inner = _inner(kind)
    if _is_table(inner):
        yield from _of_table(value, inner, key)
    elif get_origin(inner) in (dict, Mapping, _ABSTRACT):
        yield from _of_mapping(value, get_args(inner)[1], key)
    elif get_origin(inner) is tuple:
        yield from _of_list(value, get_args(inner)[0], key)
    else:
        yield from _of_leaf(value, kind, key)


def fields_of(kind: type) -> dict[str, Any]:
    """The keys that a table of this type may have, and their types."""
    hints = get_type_hints(kind, include_extras=True)
    names = [each.name for each in structs.fields(kind)] if issubclass(kind, Struct) else _dataclass_names(kind)
    return {name: hints[name] for name in names}


def table_in(kind: Any) -> type | None:
    """The type of the tables that a field holds: itself, each of a list, or each of a table of tables."""
    inner = _inner(kind)
    if get_origin(inner) in (dict, Mapping, _ABSTRACT, tuple):
        return table_in(get_args(inner)[-1 if get_origin(inner) is not tuple else 0])
    return inner if _is_table(inner) else None


def words_of(kind: Any) -> list[str]:
    """The words of a choice between words."""
    inner = _inner(kind)
    parts = [inner, *get_args(inner)] if get_origin(inner) in (Union, UnionType) else [inner]
    return [word for each in parts if get_origin(each) is Literal for word in get_args(each) if word]


def nearest(name: str, known: Iterable[str]) -> str:
    """A question that names what was probably meant; "" if nothing is near."""
    close = difflib.get_close_matches(name, list(known), 1, 0.6)
    return f"; did you mean {close[0]!r}?" if close else ""


def _is_table(kind: Any) -> bool:
    return isinstance(kind, type) and (issubclass(kind, Struct) or dataclasses.is_dataclass(cast("type[object]", kind)))


_ABSTRACT: Final = get_origin(Mapping[str, str])


def _inner(kind: Any) -> Any:
    """Without annotations and without the None of an optional table."""
    if get_origin(kind) is Annotated:
        return _inner(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        [*real] = (each for each in get_args(kind) if each is not type(None))
        return _inner(real[0]) if len(real) == 1 else kind
    return kind


def _of_table(value: object, kind: type, key: Key) -> Iterator[Problem]:
    if not isinstance(value, dict):
        yield Problem(key, f"expected a table, got {_said(value)}")
        return
    fields = fields_of(kind)
    for name, each in cast("dict[str, object]", value).items():
        if name not in fields:
            yield Problem((*key, name), f"there is no such key{nearest(name, fields)}{_allowed(fields)}")
        else:
            yield from problems_of(each, fields[name], (*key, name))
    yield from (Problem(key, f"{name!r} is missing") for name in _required(kind) if name not in value)


def _of_mapping(value: object, kind: Any, key: Key) -> Iterator[Problem]:
    if not isinstance(value, dict):
        yield Problem(key, f"expected a table, got {_said(value)}")
        return
    for name, each in cast("dict[str, object]", value).items():
        yield from problems_of(each, kind, (*key, name))


def _of_list(value: object, kind: Any, key: Key) -> Iterator[Problem]:
    if not isinstance(value, list):
        yield Problem(key, f"expected a list, got {_said(value)}")
        return
    for place, each in enumerate(cast("list[object]", value)):
        yield from problems_of(each, kind, (*key, place))


def _of_leaf(value: object, kind: Any, key: Key) -> Iterator[Problem]:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        words = words_of(kind)
        allowed = f"one of {', '.join(words)}{_meant(value, words)}" if words else _described(kind)
        yield Problem(key, f"expected {allowed}" if allowed else _plainly(str(error)))


def _described(kind: Any) -> str:
    """What the type itself says is allowed."""
    found = [each.description for each in get_args(kind) if isinstance(each, Meta) and each.description]
    return found[0] if found else ""


def _plainly(says: str) -> str:
    """The reader's message, without its place and in words for people."""
    says = _PLACE.sub("", says).replace("Expected", "expected", 1).replace(" | null`", "`")  # which no file can say
    for name, word in _KINDS.items():
        says = says.replace(f"`{name}`", word).replace(f"`{name} ", f"{word} ").replace(f" | {name}`", f" or {word}`")
    return says.replace("`", "")


def _meant(value: object, words: Iterable[str]) -> str:
    """The value itself is not shown: it may be a key that stands in the wrong place."""
    return nearest(value, words) if isinstance(value, str) else ""


def _required(kind: type) -> list[str]:
    if issubclass(kind, Struct):
        return [each.name for each in structs.fields(kind) if each.required]
    return []


def _dataclass_names(kind: Any) -> list[str]:
    return [each.name for each in dataclasses.fields(kind)]


def _allowed(fields: Iterable[str]) -> str:
    return f" (allowed: {', '.join(fields)})"


def _said(value: object) -> str:
    return _KINDS.get(type(value).__name__, "another value")
