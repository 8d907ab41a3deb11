"""What a request in a dialect of OpenAI's can get wrong by itself, in the order of checking: rows of TOML."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final, cast

from msgspec import Struct

from clew.model.facts.tables import read_table, to_row

_FILE: Final = "openai_rules.toml"


class OpenaiRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One defect, and what OpenAI answers to it."""

    id: str
    means: str
    text: str
    right: str
    source: str


class RequestShape(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """By what a request of a dialect is known: fields of it, of its messages, its roles, content parts and tools."""

    fields: frozenset[str] = frozenset()
    message_fields: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    parts: frozenset[str] = frozenset()
    tools: frozenset[str] = frozenset()


class OpenaiRules(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole table."""

    rules: Mapping[str, OpenaiRule]
    shapes: Mapping[str, RequestShape]
    prefixes: Mapping[str, str]
    """How the id of an item begins, by its type."""
    calls: Mapping[str, str]
    """The kinds of calls that clients answer, in OpenAI's words."""


@cache
def openai_rules() -> OpenaiRules:
    """The table as it is in the file."""
    table = read_table(_FILE)
    rows = cast("list[Mapping[str, object]]", table["rule"])
    shapes = cast("Mapping[str, Mapping[str, object]]", table["shapes"])
    return OpenaiRules(
        rules={str(row["id"]): to_row(OpenaiRule, row, file=_FILE, key=str(row["id"])) for row in rows},
        shapes={name: to_row(RequestShape, row, file=_FILE, key=name) for name, row in shapes.items()},
        prefixes=cast("Mapping[str, str]", table["prefixes"]),
        calls=cast("Mapping[str, str]", table["calls"]),
    )
