"""Stances by name: from the defaults of the facts, a TOML file of the user's, and options.

A file is flat. Its keys are conflicts (`C-7`) or their switches (`trailing_thinking`), and the four settings that belong to
no conflict:

    trailing_thinking = "reject"
    C-6 = "accept"
    predecessor = "read"                # sent | read
    prefix_enforcement = "on"           # default | on | off
    streams = "never"                   # asked | always | never
    without_grades = ["C", "D"]
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, Literal, cast, get_args

from clew.errors import SettingsInvalid
from clew.model.facts import default_stances, stances
from clew.simulator.interfaces import Grade, Stance

_SETTINGS: Final = {
    "predecessor": ("sent", "read"),
    "prefix_enforcement": ("default", "on", "off"),
    "streams": ("asked", "always", "never"),
}


def stance(settings: Mapping[str, object] | None = None, *, file: str = "") -> Stance:
    """The default stance with these settings on top. Raises SettingsInvalid for an unknown key or value."""
    choices = dict(default_stances())
    others: dict[str, str] = {}
    grades: frozenset[Grade] = frozenset()
    for key, value in (settings or {}).items():
        if key == "without_grades":
            given = cast(list[object], value) if isinstance(value, list) else [value]
            grades = frozenset(cast(Grade, _one_of(key, grade, get_args(Grade), file)) for grade in given)
        elif key in _SETTINGS:
            others[key] = _one_of(key, value, _SETTINGS[key], file)
        else:
            name = _conflict(key, file)
            choices[name] = _one_of(key, value, stances()[name].values, file)
    return Stance(
        choices=choices,
        without_grades=grades,
        predecessor=cast(Literal["sent", "read"], others.get("predecessor", "sent")),
        prefix_enforcement=cast(Literal["default", "on", "off"], others.get("prefix_enforcement", "default")),
        streams=cast(Literal["asked", "always", "never"], others.get("streams", "asked")),
    )


def read_file(path: Path) -> dict[str, object]:
    """The settings in a file, not yet checked. Raises SettingsInvalid if it cannot be read."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise SettingsInvalid(f"{path}: {getattr(error, 'strerror', None) or error}", file=str(path)) from error


def _conflict(key: str, file: str) -> str:
    if key in stances():
        return key
    for name, row in stances().items():
        if row.switch == key:
            return name
    known = [*_SETTINGS, "without_grades", *(row.switch for row in stances().values())]
    raise SettingsInvalid(f"there is no stance {key!r}; there are {', '.join(known)}", file=file, key=key)


def _one_of(key: str, value: object, allowed: Iterable[str], file: str) -> str:
    text = str(value)
    if text not in allowed:
        raise SettingsInvalid(f"{key} cannot be {value!r}; it is one of {', '.join(allowed)}", file=file, key=key)
    return text
