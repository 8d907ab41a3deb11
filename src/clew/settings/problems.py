"""What is wrong with a TOML document, and in which line.

`problems_of` finds every place where a value does not have the shape of its type, with what is allowed there; the reader
that makes the values stops at the first mistake.

`key_lines` says in which line a key stands, because the standard TOML reader gives values without places. It runs over a
text that this reader accepted, and only follows headers and the beginnings of entries. What is inside a value, as in an
inline table, is found by the key that holds it.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from types import MappingProxyType, UnionType
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeAlias, Union, cast, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct, structs

Key: TypeAlias = tuple[str | int, ...]
"""A path through tables and lists: ("rules", 0, "backend")."""

_PART: Final = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
_DOTTED: Final = rf"{_PART}(?:[ \t]*\.[ \t]*{_PART})*"
_HEADER: Final = re.compile(rf"[ \t]*(\[\[?)[ \t]*({_DOTTED})[ \t]*\]")
_ENTRY: Final = re.compile(rf"[ \t]*({_DOTTED})[ \t]*=")
_TOKENS: Final = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}'  # strings first: whatever is in them is not structure
    r"|'''.*?'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
    r"|#[^\n]*"
    r"|[\[\]{}\n]",
    re.DOTALL,
)
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_PLACE: Final = re.compile(r" - at `[^`]*`$")
_MAPPING: Final = get_origin(Mapping[str, str])
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
    """Everything that keeps `value` from being a `kind`."""
    inner = _inner(kind)
    origin = get_origin(inner)
    if _is_table(inner):
        yield from _table_problems(value, inner, key)
    elif origin in (dict, Mapping, _MAPPING):
        if not isinstance(value, dict):
            yield Problem(key, f"expected a table, got {_kind_of(value)}")
            return
        for name, each in cast("dict[str, object]", value).items():
            yield from problems_of(each, get_args(inner)[1], (*key, name))
    elif origin is tuple:
        if not isinstance(value, list):
            yield Problem(key, f"expected a list, got {_kind_of(value)}")
            return
        for place, each in enumerate(cast("list[object]", value)):
            yield from problems_of(each, get_args(inner)[0], (*key, place))
    else:
        yield from _value_problems(value, kind, key)


def _table_problems(value: object, kind: type, key: Key) -> Iterator[Problem]:
    if not isinstance(value, dict):
        yield Problem(key, f"expected a table, got {_kind_of(value)}")
        return
    fields = fields_of(kind)
    for name, each in cast("dict[str, object]", value).items():
        if name not in fields:
            allowed = f" (allowed: {', '.join(fields)})"
            yield Problem((*key, name), f"there is no such key{nearest(name, fields)}{allowed}")
        else:
            yield from problems_of(each, fields[name], (*key, name))
    required = [each.name for each in structs.fields(kind) if each.required] if issubclass(kind, Struct) else []
    yield from (Problem(key, f"{name!r} is missing") for name in required if name not in value)


def _value_problems(value: object, kind: Any, key: Key) -> Iterator[Problem]:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        described = [each.description for each in get_args(kind) if isinstance(each, Meta) and each.description]
        if choices := choices_of(kind):
            # The value itself is not shown: it may be a secret that stands in the wrong place.
            meant = nearest(value, choices) if isinstance(value, str) else ""
            yield Problem(key, f"expected one of {', '.join(choices)}{meant}")
        elif described:
            yield Problem(key, f"expected {described[0]}")
        else:
            says = _PLACE.sub("", str(error)).replace("Expected", "expected", 1).replace(" | null`", "`")  # no file has null
            for name, word in _KINDS.items():
                says = says.replace(f"`{name}`", word).replace(f"`{name} ", f"{word} ")
                says = says.replace(f" | {name}`", f" or {word}`")
            yield Problem(key, says.replace("`", ""))


def _kind_of(value: object) -> str:
    return _KINDS.get(type(value).__name__, "another value")


@cache
def fields_of(kind: type) -> Mapping[str, Any]:
    """The keys that a table of this type may have, and their types. Worked out once: hints are evaluated from strings."""
    hints = get_type_hints(kind, include_extras=True)
    fields = structs.fields(kind) if issubclass(kind, Struct) else dataclasses.fields(cast("Any", kind))
    return MappingProxyType({each.name: hints[each.name] for each in fields})


def table_in(kind: Any) -> type | None:
    """The type of the tables that a field holds: itself, each of a list, or each of a table of tables."""
    inner = _inner(kind)
    if get_origin(inner) in (dict, Mapping, _MAPPING, tuple):
        return table_in(get_args(inner)[-1 if get_origin(inner) is not tuple else 0])
    return inner if _is_table(inner) else None


def choices_of(kind: Any) -> list[str]:
    """The words of a type that is a choice between words."""
    inner = _inner(kind)
    parts = [inner, *get_args(inner)] if get_origin(inner) in (Union, UnionType) else [inner]
    return [word for each in parts if get_origin(each) is Literal for word in get_args(each) if word]


def nearest(name: str, known: Iterable[str]) -> str:
    """A question that names what was probably meant; "" if nothing is near."""
    close = difflib.get_close_matches(name, list(known), 1, 0.6)
    return f"; did you mean {close[0]!r}?" if close else ""


def _is_table(kind: Any) -> bool:
    return isinstance(kind, type) and (issubclass(kind, Struct) or dataclasses.is_dataclass(cast("type[object]", kind)))


def _inner(kind: Any) -> Any:
    """The type without annotations and without the None of an optional table."""
    if get_origin(kind) is Annotated:
        return _inner(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        [*real] = (each for each in get_args(kind) if each is not type(None))
        return _inner(real[0]) if len(real) == 1 else kind
    return kind


class Statement(NamedTuple):
    """A header or an entry: its key, its line, and where it begins and ends in the text."""

    key: Key
    line: int
    start: int
    end: int


def statements(text: str) -> Iterator[Statement]:
    """Every header and every entry, in order. Blank lines and comments belong to none."""
    counts: dict[Key, int] = {}
    table: Key = ()
    starts = _starts(text)
    for (start, line), (end, _) in zip(starts, [*starts[1:], (len(text), 0)], strict=True):
        if header := _HEADER.match(text, start):
            *path, last = _parts(header[2])
            table = ()
            for part in path:  # through the last element of each list of tables
                table = (*table, part)
                table = (*table, counts[table]) if table in counts else table
            table = (*table, last)
            if header[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            yield Statement(table, line, start, end)
        elif entry := _ENTRY.match(text, start):
            yield Statement((*table, *_parts(entry[1])), line, start, end)


def key_lines(text: str) -> dict[Key, int]:
    """The line of each header and of each entry's key, counted from 1."""
    found: dict[Key, int] = {}
    for each in statements(text):
        found.setdefault(each.key, each.line)
    return found


def line_of(key: Key, lines: Mapping[Key, int]) -> int:
    """The line of the key, or of the nearest that holds it, or of the first that it holds; 0 if there is none."""
    nearest = key
    while nearest and nearest not in lines:
        nearest = nearest[:-1]
    if nearest:
        return lines[nearest]
    return min((line for each, line in lines.items() if key and each[: len(key)] == key), default=0)


def format_key(key: Key) -> str:
    """A key as a person writes it: `backends.glm.url`, `rules[0].backend`."""
    text = ""
    for part in key:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += ("." if text else "") + (part if _BARE.fullmatch(part) else f'"{part}"')
    return text


def _starts(text: str) -> list[tuple[int, int]]:
    """Where each statement begins, and its line: a line that no value of an earlier statement reaches into."""
    starts = [(0, 1)]
    depth, line, at = 0, 1, 0
    while match := _TOKENS.search(text, at):
        at, found = match.end(), match[0]
        depth += (found in "[{") - (found in "]}") if len(found) == 1 else 0
        line += found.count("\n")
        if found == "\n" and depth == 0:
            starts.append((at, line))
    return starts


def _parts(dotted: str) -> Key:
    """The parts of a dotted key, as the TOML reader takes them."""
    value: object = tomllib.loads(f"{dotted} = 0")
    parts: list[str] = []
    while isinstance(value, dict):
        [(name, value)] = cast("dict[str, object]", value).items()
        parts.append(name)
    return tuple(parts)
