"""Variables that keys are to come from, and that are not set here.

For commands that call nobody and so look up no key, but should say which backends a start here would disable. Only the
environment is looked at: no file is opened for it, and no keyring asked.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

from msgspec import Struct

from clew.settings.lines import Key, key_lines, line_of
from clew.settings.sources import variables_without

__all__ = ["Unset", "unset_variables"]


class Unset(Struct, frozen=True, kw_only=True):
    """One of them, the backend whose key it is to hold, and the line that names it."""

    backend: str
    variable: str
    line: int


def unset_variables(file: Path, environ: Mapping[str, str]) -> tuple[Unset, ...]:
    """Those of a config that can be read; of another one nothing is said here."""
    try:
        text = file.read_text("utf-8-sig")
        raw: Mapping[str, object] = tomllib.loads(text)
    except (OSError, ValueError, RecursionError):
        return ()
    lines = key_lines(text)
    return tuple(
        Unset(backend=str(key[1]), variable=name, line=line_of(key, lines))
        for key, told in _keys(raw.get("backends"))
        for name in variables_without(told, environ)
    )


def _keys(backends: object) -> Iterator[tuple[Key, str]]:
    for name, table in _table(backends).items():
        key, keys = _table(table).get("key"), _table(table).get("keys")
        for place, told in ((("key",), key), *((("keys", at), each) for at, each in enumerate(_list(keys)))):
            if isinstance(told, str):
                yield ("backends", name, *place), told


def _table(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []
