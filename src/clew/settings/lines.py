"""In which line of a TOML text a key stands.

The standard reader gives values without places, and a message about a value is worth little without its line. This is no
second TOML reader: it runs over a text that the first one took, and only follows headers and the beginnings of entries.
Whatever is inside a value, as in an inline table, is found by the key that holds it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias, cast

__all__ = ["Key", "Statement", "key_lines", "line_of", "spelled", "statements"]

Key: TypeAlias = tuple[str | int, ...]
"""A way through tables and lists: ("rules", 0, "backend")."""

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


class Statement(NamedTuple):
    """A header or an entry: what it is about, its line, and where it begins and ends in the text."""

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
            table = _resolved(_parts(header[2]), counts)
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


def spelled(key: Key) -> str:
    """As a person would write it: `backends.glm.url`, `rules[0].backend`."""
    said = ""
    for part in key:
        if isinstance(part, int):
            said += f"[{part}]"
        else:
            said += ("." if said else "") + (part if _BARE.fullmatch(part) else f'"{part}"')
    return said


def _starts(text: str) -> list[tuple[int, int]]:
    """Where each statement begins, and its line: a line that no value of an earlier one reaches into."""
    starts = [(0, 1)]
    depth, line, at = 0, 1, 0
    while token := _TOKENS.search(text, at):
        at, said = token.end(), token[0]
        depth += (said in "[{") - (said in "]}") if len(said) == 1 else 0
        line += said.count("\n")
        if said == "\n" and depth == 0:
            starts.append((at, line))
    return starts


def _parts(dotted: str) -> Key:
    """The parts of a dotted key, as the real reader takes them."""
    value: object = tomllib.loads(f"{dotted} = 0")
    parts: list[str] = []
    while isinstance(value, dict):
        [(name, value)] = cast("dict[str, object]", value).items()
        parts.append(name)
    return tuple(parts)


def _resolved(parts: Key, counts: Mapping[Key, int]) -> Key:
    """The header's way, through the last element of each list of tables that it passes."""
    way: Key = ()
    for place, part in enumerate(parts):
        way = (*way, part)
        if way in counts and place < len(parts) - 1:
            way = (*way, counts[way])
    return way
