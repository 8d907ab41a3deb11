"""Adds a backend to the settings file, and removes one. The rest of the file stays as it was, to the byte.

The new text is checked before it is written: the file can be used with it. Without a file, one is written first, as
`clew config init` does: a file is the whole list of backends, so those that were found without one must be in it.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import click
from msgspec import Struct

from clew.backends.names import FAMILIES
from clew.backends.presets import presets
from clew.cli.command import BadConfig, Failed
from clew.cli.installation import Installation, store_for_reading
from clew.engine.choices import ACTIVE, AGENTS, family_choice
from clew.settings.examine import examine
from clew.settings.home import write_private
from clew.settings.load import Loaded, config_place
from clew.settings.own_keys import LOCAL, named_keys
from clew.settings.problems import format_key, key_lines, line_of, nearest, statements
from clew.settings.processes import registered_gateways
from clew.settings.schema import template, toml_value
from clew.store import Store

_ALL: Final = 1_000_000


def add_backend(name: str, fields: Mapping[str, str], file: Path | None) -> Path:
    """Write the backend at the end of the file. Gives the file.

    Without a key, that of a known vendor is looked for where the vendor's own tools look.
    """
    path = config_place(os.environ, file)
    try:
        text = path.read_text("utf-8") if path.exists() else ""
        text = text if text.strip() else template(os.environ)  # clew does not use an empty file either
    except (OSError, UnicodeDecodeError) as error:
        raise Failed(f"cannot read {path}: {error}") from None
    try:
        backends: Any = tomllib.loads(text).get("backends", {})
    except tomllib.TOMLDecodeError as error:
        raise BadConfig(f"{path} cannot be used: {error}; `clew config check` says more.") from None
    if isinstance(backends, dict) and name in backends:
        if path.exists():
            raise Failed(f"{path} has a backend {name!r} already: give another --name, or edit the file.")
        there = f"there is a backend {name!r} already, without a file"
        raise Failed(f"{there}: give another --name, or edit what `clew config init` writes.")
    preset = presets().get(fields.get("preset", ""))
    usual_key = f"${{{preset.variables[0].name}}}" if preset and preset.variables and not preset.keyless else ""
    fresh = f"{text.rstrip()}\n\n{backend_table(name, {**fields, 'key': fields.get('key', '') or usual_key})}"
    try:
        _check(tomllib.loads(fresh), path)
    except tomllib.TOMLDecodeError:
        why = "its `backends` stand on one line, and a table cannot be added to that: write them as [backends.NAME]"
        raise BadConfig(f"{path} stays as it was: {why}") from None
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(path, fresh.encode())
    return path


def backend_table(name: str, fields: Mapping[str, str]) -> str:
    """The table as a person would write it."""
    lines = [f"{key} = {toml_value(value)}" for key, value in fields.items() if value]
    return "\n".join([f"[{format_key(('backends', name))}]", *lines, ""])


def _check(raw: dict[str, Any], path: Path) -> None:
    """Raises BadConfig if a file with these values cannot be used."""
    if problems := examine(raw, os.environ, keys=False).problems:
        why = "; ".join(f"{format_key(problem.key)}: {problem.says}" for problem in problems)
        raise BadConfig(f"{path} stays as it was: {why}")


# Removing


class BackendUse(Struct, frozen=True):
    """A place that needs the backend, and what frees it."""

    where: str
    free: str


def remove_backend(name: str, installation: Installation) -> Path:
    """Write the file without the backend. Gives the file. Raises Failed with every place that still needs the backend."""
    loaded = installation.usable
    path, text = loaded.file, loaded.text.reveal() if loaded.text else ""
    if path is None:
        raise Failed("there is no settings file, so the backends are those that the environment gives: unset the variable.")
    raw: dict[str, Any] = tomllib.loads(text)
    backends = raw.get("backends", {})
    if name not in backends:
        raise click.UsageError(f"There is no backend {name!r} in {path}{nearest(name, backends)}")
    with store_for_reading(installation) as store:
        is_chosen = bool(store and store.settings().get(ACTIVE))
        uses = [*_uses_in_file(name, loaded, raw, is_chosen=is_chosen), *_uses_by_choice(name, installation, store)]
    if uses:
        places = "\n".join(f"  {each.where}: {each.free}" for each in uses)
        raise Failed(f"{name} stays, because something needs it:\n{places}")
    if len(backends) == 1:
        raise Failed(f"{name} is the only backend of {path}: add another one first, or delete the file.")
    fresh = without_backend(text, name)
    wanted = {**raw, "backends": {each: table for each, table in backends.items() if each != name}}
    if tomllib.loads(fresh) != wanted:
        why = (
            f"{name} does not stand in a table of its own: write it as [{format_key(('backends', name))}], or edit the file"
        )
        raise BadConfig(f"{path} stays as it was: {why}.")
    _check(wanted, path)
    write_private(path, fresh.encode())
    return path


def without_backend(text: str, name: str) -> str:
    """The text without the backend's tables and entries. Comments between these go; those before and behind stay."""
    groups = groupby(statements(text), lambda each: each.key[:2] == ("backends", name))
    for own in reversed([list(group) for belongs, group in groups if belongs]):
        before, behind = text[: own[0].start], text[own[-1].end :]
        text = before + (behind.removeprefix("\n") if before.endswith("\n\n") else behind)
    return text


def _uses_in_file(name: str, loaded: Loaded, raw: dict[str, Any], *, is_chosen: bool) -> Iterator[BackendUse]:
    lines, edit = key_lines(loaded.text.reveal() if loaded.text else ""), "change that line"
    if raw.get("active") == name:
        yield BackendUse(f'active = "{name}" ({loaded.file}:{line_of(("active",), lines)})', edit)
    elif not raw.get("active") and loaded.settings.active == name and not is_chosen:
        yield BackendUse(f"it is active, because {loaded.file} names no other", 'write `active = "NAME"` at its top')
    if name in raw.get("failover", ()):
        yield BackendUse(f"failover ({loaded.file}:{line_of(('failover',), lines)})", edit)
    for place, rule in enumerate(raw.get("rules", ())):
        if rule.get("backend") == name:
            line = line_of(("rules", place, "backend"), lines)
            yield BackendUse(f"a rule ({loaded.file}:{line})", "change or remove it")


def _uses_by_choice(name: str, installation: Installation, store: Store | None) -> Iterator[BackendUse]:
    """Gateways that were started with it, and what `clew use` put into the store."""
    for gateway in registered_gateways(installation.home):
        if gateway.choice == name:
            yield BackendUse(f"`clew run --backend {name}` (pid {gateway.pid})", "end it")
        if store and store.settings(gateway.name).get(ACTIVE) == name:
            yield BackendUse(f"active for the gateway {gateway.name}", f"`clew use --reset --gateway {gateway.name}`")
    if store is None:
        return
    settings = store.settings()
    parts = {ACTIVE: "", AGENTS: " --agents"} | {family_choice(each): f" --family {each}" for each in FAMILIES}
    for setting, option in parts.items():
        if settings.get(setting) == name:
            yield BackendUse(f"active by `clew use{option}`", f"`clew use --reset{option}`")
    for principal in sorted({LOCAL, *(row.principal for row in named_keys(installation.home))}):
        for thread in store.threads(principal, limit=_ALL):
            if thread.pin == name:
                whose = "" if principal == LOCAL else f" --principal {principal}"
                reset = f"`clew use --reset --thread {thread.id}{whose}`"
                yield BackendUse(f"the thread {thread.id} stays with it", reset)
