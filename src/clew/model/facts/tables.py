"""Reads a table of facts: TOML from this package, each row into a frozen struct, strictly.

A key that no struct has, or a value that it does not take, is an error that names the file and the key. Tables change with
the vendors, and a misspelt fact that is silently ignored is worse than none.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import TypeVar, cast

import msgspec

from clew.errors import SettingsInvalid

__all__ = ["Table", "read_table", "to_row", "to_rows"]

Table = Mapping[str, object]

_Row = TypeVar("_Row")
_UNKNOWN = re.compile(r"unknown field `([^`]+)`")
_MISSING = re.compile(r"missing required field `([^`]+)`")
_AT = re.compile(r" - at `\$\.?([^`]*)`$")


def read_table(file: str) -> Table:
    """The whole file, not yet checked."""
    text = resources.files(__package__ or "").joinpath(file).read_text("utf-8")
    return tomllib.loads(text)


def to_row(kind: type[_Row], row: object, *, file: str, key: str) -> _Row:
    """The struct that the row says, or SettingsInvalid."""
    try:
        return msgspec.convert(row, kind)
    except msgspec.ValidationError as error:
        raise SettingsInvalid(f"{file}: {key}: {error}", file=file, key=_where(key, str(error))) from error


def to_rows(kind: type[_Row], rows: object, *, file: str) -> dict[str, _Row]:
    """One struct for each entry; its key becomes the struct's `name`."""
    if not isinstance(rows, Mapping):
        raise SettingsInvalid(f"{file}: expected a table of tables", file=file)
    named = cast("Mapping[str, object]", rows)
    return {key: to_row(kind, _named(row, key), file=file, key=key) for key, row in named.items()}


def _named(row: object, key: str) -> object:
    return {**cast("Mapping[str, object]", row), "name": key} if isinstance(row, Mapping) else row


def _where(key: str, error: str) -> str:
    """The row's key, and below it what msgspec's message points at."""
    below = [match[1] for pattern in (_AT, _UNKNOWN, _MISSING) if (match := pattern.search(error)) and match[1]]
    return ".".join([key, *below])
