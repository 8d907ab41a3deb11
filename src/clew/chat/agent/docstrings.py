"""What a function's docstring tells a model: what the tool does, and what each parameter means.

The three customs are read: Google's (`Args:`), NumPy's (`Parameters` underlined) and Sphinx's (`:param name:`). What stands
before the first section says what the tool does; sections on results, errors and examples are for people who read the code.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise, takewhile

from msgspec import Struct

__all__ = ["Doc", "doc_of"]

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


class Doc(Struct, frozen=True):
    """What a docstring says, without its customs."""

    summary: str = ""
    parameters: dict[str, str] = {}


def doc_of(docstring: str | None) -> Doc:
    """Read a docstring.

    >>> doc_of('''Tells the weather.
    ...
    ... Args:
    ...     city: Where.
    ... ''')
    Doc(summary='Tells the weather.', parameters={'city': 'Where.'})
    """
    lines = inspect.cleandoc(docstring or "").splitlines()
    starts = [index for index in range(len(lines)) if _section(lines, index)]
    end = min([*starts, *_fields(lines), len(lines)])
    sections = (lines[start:stop] for start, stop in pairwise([*starts, len(lines)]))
    named = {name: text for section in sections for name, text in _in_section(section)}
    return Doc(_joined(lines[:end]), {**named, **dict(_sphinx(lines))})


def _section(lines: list[str], index: int) -> str:
    """The name of the section that begins in this line; "" if none does."""
    line = lines[index]
    below = lines[index + 1] if index + 1 < len(lines) else ""
    if (match := _GOOGLE.fullmatch(line)) and match[1].lower() in _SECTIONS:
        return match[1].lower()
    return line.lower() if line.lower() in _SECTIONS and below and not below.strip("-") else ""


def _fields(lines: list[str]) -> Iterator[int]:
    """Where Sphinx's fields begin."""
    return (index for index, line in enumerate(lines) if _FIELD.match(line))


def _in_section(section: list[str]) -> Iterator[tuple[str, str]]:
    name = _section(section, 0)
    if name not in _ARGUMENTS:
        return
    if section[0].endswith(":"):
        yield from _google(section[1:])
    else:
        yield from _numpy(section[2:])


def _google(lines: list[str]) -> Iterator[tuple[str, str]]:
    """`name (type): what it is`, and on in deeper lines."""
    body = inspect.cleandoc("\n" + "\n".join(lines)).splitlines()
    for entry in _entries(body):
        if match := _ENTRY.match(entry[0]):
            yield match[1], _joined([match[2], *entry[1:]])


def _numpy(lines: list[str]) -> Iterator[tuple[str, str]]:
    """`name : type`, and what it is in deeper lines."""
    for entry in _entries(lines):
        if match := _NUMPY_ENTRY.fullmatch(entry[0].strip()):
            for name in match[1].split(","):
                yield name.strip(), _joined(entry[1:])


def _sphinx(lines: list[str]) -> Iterator[tuple[str, str]]:
    """`:param type name: what it is`, and on in deeper lines."""
    for index, line in enumerate(lines):
        if match := _PARAM.match(line):
            more = takewhile(lambda each: each.startswith((" ", "\t")), lines[index + 1 :])
            yield match[1], _joined([match[2], *more])


def _entries(lines: list[str]) -> Iterator[list[str]]:
    """Each line that is not indented, with the indented ones below it."""
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
    """Paragraphs stay paragraphs; lines within one are one."""
    text = "\n".join(line.strip() for line in lines).strip()
    return "\n\n".join(" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if part.strip())
