"""Facts about tool calls that models write as text: the forms, and which family of models writes which.

A host that serves such a model should read its calls and tell them as calls. Many do so only if they are told to, and some
miss a few. `text_calls.toml` explains the columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from typing import Final, Literal

from msgspec import Struct

from clew.model.facts.tables import read_table, to_rows

BY_MODEL: Final = "by model"
"""The family is found by the name of the model."""
NEVER: Final = "never"
"""What is written as text stays text."""

_FILE: Final = "text_calls.toml"


class TextCallForm(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One way to write a call."""

    name: str
    begin: tuple[str, ...]
    body: Literal["json", "arguments"]
    argument: tuple[str, ...] = ()
    end: tuple[str, ...]
    open_end: bool = False
    trims: bool = False
    sources: tuple[str, ...]


class TextCallFamily(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Models that write calls in the same forms."""

    name: str
    models: tuple[str, ...]
    forms: tuple[str, ...]
    sources: tuple[str, ...]
    date: str


@cache
def text_call_forms() -> Mapping[str, TextCallForm]:
    return to_rows(TextCallForm, read_table(_FILE)["form"], file=_FILE)


@cache
def text_call_families() -> Mapping[str, TextCallFamily]:
    """In the order in which their patterns are tried."""
    return to_rows(TextCallFamily, read_table(_FILE)["family"], file=_FILE)


@lru_cache(maxsize=256)
def text_call_family(model: str) -> str:
    """The family of a model by the name that its host gives it; "" if it is in none.

    >>> text_call_family("x-ai/grok-code-fast-1")
    'grok'
    """
    name = model.lower()
    rows = text_call_families().values()
    return next((row.name for row in rows if any(fnmatchcase(name, pattern) for pattern in row.models)), "")
