"""Edits of the settings file as text. Comments, the order and everything else in the file stay as they were, to the byte.

Each function gives a new text. A backend may be written in ways that these edits do not reach, such as an inline table:
whether a text with other values says what was meant is for the caller to check.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from itertools import dropwhile, groupby, takewhile
from typing import Final

from clew.model.json import JsonValue
from clew.settings.problems import Statement, format_key, statements
from clew.settings.schema import toml_value

_BACKENDS: Final = "backends"
_COMMENT: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|(?P<comment>[ \t]*#[^\n]*)')
"""Strings first: a # in them begins no comment."""


def backend_table(name: str, values: Mapping[str, JsonValue]) -> str:
    """The table of a backend as a person would write it. Values that are "" or None are left out."""
    lines = [f"{key} = {toml_value(value)}" for key, value in values.items() if value not in ("", None)]
    return "\n".join([f"[{format_key((_BACKENDS, name))}]", *lines, ""])


def with_backend(text: str, name: str, values: Mapping[str, JsonValue]) -> str:
    """The text with one more backend, at its end."""
    return f"{text.rstrip()}\n\n{backend_table(name, values)}".lstrip("\n")


def with_backend_values(text: str, name: str, values: Mapping[str, JsonValue]) -> str:
    """The text with other values for some keys of a backend. A key that gets "" or None is removed."""
    for key, value in values.items():
        there = next((each for each in statements(text) if each.key == (_BACKENDS, name, key)), None)
        if there is None and value not in ("", None):
            text = _with_line(text, name, f"{key} = {toml_value(value)}\n")
        elif there is not None:
            line = ""
            if value not in ("", None):  # a comment behind the statement stays
                old = text[there.start : there.end]
                comment = next((match["comment"] for match in _COMMENT.finditer(old) if match["comment"]), "")
                line = f"{key} = {toml_value(value)}{comment if old.count(chr(10)) <= 1 else ''}\n"
            text = text[: there.start] + line + text[there.end :]
    return text


def _with_line(text: str, name: str, line: str) -> str:
    """A line behind the last key of the backend's own table, before any table in it."""
    own = list(dropwhile(lambda each: each.key != (_BACKENDS, name) or not _is_header(text, each), statements(text)))
    if not own:
        return text
    entries = takewhile(lambda each: not _is_header(text, each), own[1:])
    end = max((each.end for each in entries), default=own[0].end)
    before = text[:end]
    return f"{before}{'' if before.endswith(chr(10)) else chr(10)}{line}{text[end:]}"


def _is_header(text: str, each: Statement) -> bool:
    return text[each.start : each.end].lstrip().startswith("[")


def without_backend(text: str, name: str) -> str | None:
    """The text without the backend's tables and entries; None if it is written in another way. Comments between these go;
    those before and behind stay."""
    raw = tomllib.loads(text)
    groups = groupby(statements(text), lambda each: each.key[:2] == (_BACKENDS, name))
    for own in reversed([list(group) for belongs, group in groups if belongs]):
        before, behind = text[: own[0].start], text[own[-1].end :]
        text = before + (behind.removeprefix("\n") if before.endswith("\n\n") else behind)
    others = {each: table for each, table in raw[_BACKENDS].items() if each != name}
    return text if tomllib.loads(text) == {**raw, _BACKENDS: others} else None
