"""A function's docstring as a model reads it: what the tool does, and what each parameter means.

Three styles are read: Google's (`Args:`), NumPy's (`Parameters` underlined) and Sphinx's (`:param name:`). The text before
the first section says what the tool does; sections on results, errors and examples are for people who read the code.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise, takewhile

from msgspec import Struct

_GOOGLE = re.compile(r"(\w[\w ]*):")
_ARGUMENTS = {"args", "arguments", "parameters", "params"}
_SECTIONS = {
    *_ARGUMENTS,
    *("returns", "return", "yields", "raises", "examples", "example", "notes", "note", "warns", "warnings", "see also"),
    *("attributes", "references", "todo", "other parameters", "keyword args", "keyword arguments"),
}
_FIELD = re.compile(r":(\w+)(?:\s+[^:]*?)?:")
_PARAM = re.compile(r":(?:param|parameter|arg|argument)\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*(.*)")
_ENTRY = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)")
_NUMPY_ENTRY = re.compile(r"\*{0,2}(\w+(?:\s*,\s*\w+)*)\s*(?::.*)?")


class ParsedDocstring(Struct, frozen=True):
    """The content of a docstring of any style."""

    summary: str = ""
    parameters: dict[str, str] = {}


def parse_docstring(docstring: str | None) -> ParsedDocstring:
    """Parse a docstring.

    >>> parse_docstring('''Tells the weather.
    ...
    ... Args:
    ...     city: Where.
    ... ''')
    ParsedDocstring(summary='Tells the weather.', parameters={'city': 'Where.'})
    """
    lines = inspect.cleandoc(docstring or "").splitlines()
    starts = [index for index in range(len(lines)) if _section_at(lines, index)]
    fields = [index for index, line in enumerate(lines) if _FIELD.match(line)]
    parameters: dict[str, str] = {}
    for start, stop in pairwise([*starts, len(lines)]):
        if _section_at(lines, start) in _ARGUMENTS:
            is_google = lines[start].endswith(":")
            parameters |= _google(lines[start + 1 : stop]) if is_google else _numpy(lines[start + 2 : stop])
    summary = _joined(lines[: min([*starts, *fields, len(lines)])])
    return ParsedDocstring(summary, {**parameters, **dict(_sphinx(lines))})


def _section_at(lines: list[str], index: int) -> str:
    """The name of the section that begins at this line; "" if none does."""
    line = lines[index]
    below = lines[index + 1] if index + 1 < len(lines) else ""
    if (match := _GOOGLE.fullmatch(line)) and match[1].lower() in _SECTIONS:
        return match[1].lower()
    return line.lower() if line.lower() in _SECTIONS and below and not below.strip("-") else ""


def _google(lines: list[str]) -> dict[str, str]:
    """`name (type): what it is`, continued on deeper lines."""
    body = inspect.cleandoc("\n" + "\n".join(lines)).splitlines()
    matches = [(_ENTRY.match(entry[0]), entry[1:]) for entry in _entries(body)]
    return {match[1]: _joined([match[2], *more]) for match, more in matches if match}


def _numpy(lines: list[str]) -> dict[str, str]:
    """`name : type`, and what it is on deeper lines."""
    matches = [(_NUMPY_ENTRY.fullmatch(entry[0].strip()), entry[1:]) for entry in _entries(lines)]
    return {name.strip(): _joined(text) for match, text in matches if match for name in match[1].split(",")}


def _sphinx(lines: list[str]) -> Iterator[tuple[str, str]]:
    """`:param type name: what it is`, continued on deeper lines."""
    for index, line in enumerate(lines):
        if match := _PARAM.match(line):
            more = takewhile(lambda each: each.startswith((" ", "\t")), lines[index + 1 :])
            yield match[1], _joined([match[2], *more])


def _entries(lines: list[str]) -> Iterator[list[str]]:
    """Each line that is not indented, with the indented lines below it."""
    entry: list[str] = []
    for line in lines:
        if entry and line.strip() and not line.startswith((" ", "\t")):
            yield entry
            entry = []
        if entry or line.strip():
            entry.append(line)
    if entry:
        yield entry


def _joined(lines: Iterable[str]) -> str:
    """The text with each paragraph on one line."""
    text = "\n".join(line.strip() for line in lines).strip()
    return "\n\n".join(" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if part.strip())
