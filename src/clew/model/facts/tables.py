"""Reads a table of facts: TOML from this package, each row into a frozen struct, strictly.

A key that no struct has, or a value that it does not take, is an error that names the file and the key. Tables change with
the vendors, and a misspelt fact that is silently ignored is worse than none.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar, cast

import msgspec

from clew.errors import SettingsInvalid

Table = Mapping[str, object]

_Row = TypeVar("_Row")
_UNKNOWN = re.compile(r"unknown field `([^`]+)`")
_MISSING = re.compile(r"missing required field `([^`]+)`")
_AT = re.compile(r" - at `\$\.?([^`]*)`$")


def read_table(file: str) -> Table:
    """The whole file, not yet checked."""
    return tomllib.loads(Path(__file__).with_name(file).read_text("utf-8"))


def to_row(kind: type[_Row], row: object, *, file: str, key: str) -> _Row:
    """The row as a struct. Raises SettingsInvalid."""
    try:
        return msgspec.convert(row, kind)
    except msgspec.ValidationError as error:
        # The row's key, and below it the key that msgspec's message points at.
        below = [match[1] for each in (_AT, _UNKNOWN, _MISSING) if (match := each.search(str(error))) and match[1]]
        raise SettingsInvalid(f"{file}: {key}: {error}", file=file, key=".".join([key, *below])) from error


def to_rows(kind: type[_Row], rows: object, *, file: str) -> dict[str, _Row]:
    """One struct for each entry; its key becomes the struct's `name`."""
    if not isinstance(rows, Mapping):
        raise SettingsInvalid(f"{file}: expected a table of tables", file=file)
    named = cast("Mapping[str, object]", rows)
    found: dict[str, _Row] = {}
    for key, row in named.items():
        whole = {**cast("Mapping[str, object]", row), "name": key} if isinstance(row, Mapping) else row
        found[key] = to_row(kind, whole, file=file, key=key)
    return found
