"""Takes a backend out of the settings file, if nothing needs it. The rest of the file stays as it was, comments too."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import click
from msgspec import Struct

from clew.backends.names import FAMILIES
from clew.cli.endings import BadConfig, Failed
from clew.cli.kept import Place, opened
from clew.engine.choices import ACTIVE, AGENTS, family_choice
from clew.settings.examine import examine
from clew.settings.gateway_key import LOCAL, named_keys
from clew.settings.lines import key_lines, line_of, spelled, statements
from clew.settings.load import Loaded
from clew.settings.private_file import write_private
from clew.settings.running import running
from clew.settings.shape import nearest
from clew.store import Store

__all__ = ["Use", "remove_backend"]

_ALL: Final = 1_000_000


class Use(Struct, frozen=True):
    """A place that needs the backend, and what frees it."""

    where: str
    free: str


def remove_backend(name: str, at: Place) -> Path:
    """Write the file without it; which file that is. Raises Failed with every place that still needs the backend."""
    loaded = at.usable
    path, text = loaded.file, loaded.text.reveal() if loaded.text else ""
    if path is None:
        raise Failed("there is no settings file, so the backends are those that the environment gives: unset the variable.")
    raw: dict[str, Any] = tomllib.loads(text)
    backends = raw.get("backends", {})
    if name not in backends:
        raise click.UsageError(f"There is no backend {name!r} in {path}{nearest(name, backends)}")
    if uses := list(_uses(name, at, loaded)):
        places = "\n".join(f"  {each.where}: {each.free}" for each in uses)
        raise Failed(f"{name} stays, because something needs it:\n{places}")
    if len(backends) == 1:
        raise Failed(f"{name} is the only backend of {path}: add another one first, or delete the file.")
    write_private(path, _edited(text, raw, name, path).encode())
    return path


def _edited(text: str, raw: dict[str, Any], name: str, path: Path) -> str:
    """Checked before it is written: it says what it said, but for this backend, and can be used."""
    fresh = without_backend(text, name)
    wanted = {**raw, "backends": {each: table for each, table in raw["backends"].items() if each != name}}
    if tomllib.loads(fresh) != wanted:
        said = f"{name} does not stand in a table of its own: write it as [{spelled(('backends', name))}], or edit the file"
        raise BadConfig(f"{path} stays as it was: {said}.")
    problems = examine(tomllib.loads(fresh), os.environ, keys=False).problems
    if problems:
        said = "; ".join(f"{spelled(problem.key)}: {problem.says}" for problem in problems)
        raise BadConfig(f"{path} stays as it was: {said}")
    return fresh


def without_backend(text: str, name: str) -> str:
    """The text without the backend's tables and entries. Comments between these go; those before and behind stay."""
    groups = groupby(statements(text), lambda each: each.key[:2] == ("backends", name))
    for own in reversed([list(group) for belongs, group in groups if belongs]):
        before, behind = text[: own[0].start], text[own[-1].end :]
        text = before + (behind.removeprefix("\n") if before.endswith("\n\n") else behind)
    return text


def _uses(name: str, at: Place, loaded: Loaded) -> Iterator[Use]:
    with opened(at) as store:
        chosen = store.settings() if store else dict[str, str]()
        yield from _in_file(name, loaded, is_chosen=bool(chosen.get(ACTIVE)))
        yield from _in_store(name, at, store)


def _in_file(name: str, loaded: Loaded, *, is_chosen: bool) -> Iterator[Use]:
    text = loaded.text.reveal() if loaded.text else ""
    raw: dict[str, Any] = tomllib.loads(text)
    lines, edit = key_lines(text), "change that line"
    if raw.get("active") == name:
        yield Use(f'active = "{name}" ({loaded.file}:{line_of(("active",), lines)})', edit)
    elif not raw.get("active") and loaded.settings.active == name and not is_chosen:
        yield Use(f"it is active, because {loaded.file} names no other", 'write `active = "NAME"` at its top')
    if name in raw.get("failover", ()):
        yield Use(f"failover ({loaded.file}:{line_of(('failover',), lines)})", edit)
    for place, rule in enumerate(raw.get("rules", ())):
        if rule.get("backend") == name:
            yield Use(f"a rule ({loaded.file}:{line_of(('rules', place, 'backend'), lines)})", "change or remove it")


def _in_store(name: str, at: Place, store: Store | None) -> Iterator[Use]:
    for gateway in running(at.home):
        if gateway.choice == name:
            yield Use(f"`clew run --backend {name}` (pid {gateway.pid})", "end it")
        if store and store.settings(gateway.name).get(ACTIVE) == name:
            yield Use(f"active for the gateway {gateway.name}", f"`clew use --reset --gateway {gateway.name}`")
    if store is None:
        return
    settings = store.settings()
    parts = {ACTIVE: "", AGENTS: " --agents"} | {family_choice(each): f" --family {each}" for each in FAMILIES}
    for setting, option in parts.items():
        if settings.get(setting) == name:
            yield Use(f"active by `clew use{option}`", f"`clew use --reset{option}`")
    for principal in sorted({LOCAL, *(row.principal for row in named_keys(at.home))}):
        for thread in store.threads(principal, limit=_ALL):
            if thread.pin == name:
                whose = "" if principal == LOCAL else f" --principal {principal}"
                yield Use(f"the thread {thread.id} stays with it", f"`clew use --reset --thread {thread.id}{whose}`")
