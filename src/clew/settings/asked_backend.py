"""The backend that a command names (`clew run --backend X --model M`): also a preset that the settings say nothing of.

A preset needs no more than a key, and its vendor's variable has that. So its table is made here as a person could have
written it, and takes its place beside those of the file, for this command alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct, structs

from clew.backends.presets import Preset, presets
from clew.errors import SettingsInvalid
from clew.settings.document import BackendTable


class AskedBackend(Struct, frozen=True):
    """The name of a backend or a preset, and the model that it is asked for, whatever clients name; "" leaves it open."""

    name: str = ""
    model: str = ""


NO_BACKEND: Final = AskedBackend()


def with_asked_backend(
    tables: Mapping[str, BackendTable], asked: AskedBackend, environ: Mapping[str, str]
) -> Mapping[str, BackendTable]:
    """The tables, with a table for the backend that was asked for. An unknown name adds nothing. Raises SettingsInvalid for
    a preset whose key is not in the environment."""
    table, preset = tables.get(asked.name), presets().get(asked.name)
    if table is None and preset is not None:
        table = _table_of(preset, environ)
    if table is None:
        return tables
    if asked.model:
        table = structs.replace(table, model=asked.model, models={})
    return {**tables, asked.name: table}


def _table_of(preset: Preset, environ: Mapping[str, str]) -> BackendTable:
    variable = next((each for each in preset.variables if environ.get(each.name, "").strip()), None)
    if variable is not None:
        return BackendTable(preset=preset.name, auth=variable.auth or preset.auth, key=f"${{{variable.name}}}")
    if preset.keyless:
        return BackendTable(preset=preset.name)
    names = " or ".join(each.name for each in preset.variables)
    where = f"set {names}, or add" if names else "add"
    raise SettingsInvalid(
        f"{preset.name} is a preset ({preset.title}), and its key is not in the environment: {where} the backend with "
        f"`clew backends add {preset.name}`",
        key=f"backends.{preset.name}.key",
    )
