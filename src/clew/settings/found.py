"""Backends that need no config: vendors' usual environment variables, and Claude in any case.

`ANTHROPIC_BASE_URL` says whose the Anthropic variables are: many people point it at another vendor, and that vendor's key
must not go to Anthropic. If it names this machine it may well be this gateway, which must not call itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from clew.backends.address import is_local, url_fault
from clew.backends.presets import Preset, Variable, preset_of_host, presets
from clew.settings.document import BackendTable

__all__ = ["BASE_URL", "Discovered", "discovered"]

BASE_URL: Final = "ANTHROPIC_BASE_URL"
_ANTHROPIC: Final = "anthropic"


class Discovered(NamedTuple):
    """Tables as a person could have written them, where each came from, and what should be said about it."""

    tables: dict[str, BackendTable]
    origins: dict[str, str]
    warnings: tuple[str, ...]


def discovered(environ: Mapping[str, str]) -> Discovered:
    """What the environment gives."""
    tables: dict[str, BackendTable] = {}
    origins: dict[str, str] = {}
    url, warnings = _base_url(environ)
    for preset, variable in _set_variables(environ):
        ours = preset.name == _ANTHROPIC
        if ours and warnings:
            continue
        name, table = _elsewhere(url, variable) if ours and url else (preset.backend, _table(preset, variable))
        if name not in tables:
            tables[name] = table
            origins[name] = f"environment: {variable.name}"
    if "claude" not in tables:
        tables["claude"] = BackendTable(preset=_ANTHROPIC, auth="passthrough")
        origins["claude"] = "default"
    return Discovered(dict(sorted(tables.items(), key=lambda item: item[0] != "claude")), origins, warnings)


def _base_url(environ: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """Another vendor's URL that the Anthropic variables are for; or why they are left alone."""
    url = environ.get(BASE_URL, "").strip().rstrip("/")
    if not url:
        return "", ()
    if fault := url_fault(url):
        return "", (f"{BASE_URL} is not used, nor the key beside it: {fault}",)
    if is_local(url):
        return "", (f"{BASE_URL} names this machine and may be this gateway: neither it nor the key beside it is used",)
    preset = preset_of_host(url)
    return ("" if preset and preset.name == _ANTHROPIC else url), ()


def _set_variables(environ: Mapping[str, str]) -> Iterator[tuple[Preset, Variable]]:
    """The first variable of each preset that is set, where that is all that it takes."""
    for preset in presets().values():
        found = [variable for variable in preset.variables if environ.get(variable.name, "").strip()]
        if found and preset.url:
            yield preset, found[0]


def _table(preset: Preset, variable: Variable) -> BackendTable:
    return BackendTable(preset=preset.name, auth=variable.auth or preset.auth, key=f"${{{variable.name}}}")


def _elsewhere(url: str, variable: Variable) -> tuple[str, BackendTable]:
    """The Anthropic variables as somebody else's."""
    preset = preset_of_host(url)
    auth = variable.auth or "key"
    key = f"${{{variable.name}}}"
    if preset is None:
        return "default", BackendTable(url=url, auth=auth, key=key)
    return preset.backend, BackendTable(preset=preset.name, url=url, auth=auth, key=key)
