"""The table of presets: endpoints that are known, so that a config need only say which, and a key.

The columns are explained in `presets.toml`. A URL of a known vendor gets that vendor's realm and quirks even without
`preset`: who reads a signature is a fact about the host, not about how the config is written.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Final, Literal, cast
from urllib.parse import urlsplit

from msgspec import Struct

from clew.backends.row import Quirks
from clew.errors import SettingsInvalid
from clew.model.facts.tables import to_row

__all__ = ["BACKENDS", "Preset", "Variable", "preset_of_host", "presets"]

_FILE: Final = "presets.toml"
_OWN: Final = ("as", "source", "date", "title", "hosts", "variables", "backend")


class Variable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An environment variable that holds a key, and how that key is shown if not as the preset says."""

    name: str
    auth: Literal["key", "bearer", ""] = ""


class Preset(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is known of one endpoint."""

    name: str
    title: str
    url: str
    auth: Literal["key", "bearer"]
    realm: str
    dialect: str = "anthropic"
    backend: str = ""
    variables: tuple[Variable, ...] = ()
    hosts: tuple[str, ...] = ()
    model: str = ""
    models: Mapping[str, str] = {}
    quirks: Quirks = Quirks()
    source: str
    date: str


@cache
def presets() -> Mapping[str, Preset]:
    """All rows, by name."""
    text = resources.files(__package__ or "").joinpath(_FILE).read_text("utf-8")
    rows = cast("dict[str, dict[str, object]]", tomllib.loads(text))
    return {name: to_row(Preset, _filled(name, rows), file=_FILE, key=name) for name in rows}


def preset_of_host(url: str) -> Preset | None:
    """The preset whose vendor this URL belongs to."""
    host = urlsplit(url).hostname or ""
    return next((row for row in presets().values() if any(_fits(host, each) for each in row.hosts)), None)


def _filled(name: str, rows: Mapping[str, Mapping[str, object]]) -> dict[str, object]:
    own = dict(rows[name])
    parent = str(own.pop("as", ""))
    if parent and parent not in rows:
        raise SettingsInvalid(f"{_FILE}: {name}.as: there is no {parent!r}", file=_FILE, key=f"{name}.as")
    taken = {key: value for key, value in rows[parent].items() if key not in _OWN} if parent else {}
    return {"backend": name, **taken, **own, "name": name}


def _fits(host: str, pattern: str) -> bool:
    return bool(re.fullmatch(re.escape(pattern).replace(r"\*", r"[a-z0-9.-]+"), host.lower()))


BACKENDS: Final = presets()
"""The registry that help, docs, tests and the loader read."""
