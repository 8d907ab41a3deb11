"""Adds a backend to the settings file, and removes one. The rest of the file stays as it was, to the byte.

The new text is checked before it is written: the file can be used with it. Without a file, one is written first, as
`clew config init` does: a file is the whole list of backends, so those that were found without one must be in it.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from clew.admin.backend_uses import backend_uses
from clew.backends.presets import usual_key
from clew.cli.command import BadConfig, Failed
from clew.cli.installation import Installation, store_for_reading
from clew.settings.edits import with_backend, without_backend
from clew.settings.examine import examine
from clew.settings.home import write_private
from clew.settings.load import config_place
from clew.settings.problems import format_key, nearest
from clew.settings.schema import template


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
    key = fields.get("key", "") or usual_key(fields.get("preset", ""))
    fresh = with_backend(text, name, {**fields, "key": key})
    try:
        _check(tomllib.loads(fresh), path)
    except tomllib.TOMLDecodeError:
        why = "its `backends` are on one line, so no table can be added: write them as [backends.NAME]"
        raise BadConfig(f"{path} stays as it was: {why}") from None
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(path, fresh.encode())
    return path


def _check(raw: dict[str, Any], path: Path) -> None:
    """Raises BadConfig if a file with these values cannot be used."""
    if problems := examine(raw, os.environ, keys=False).problems:
        why = "; ".join(f"{format_key(problem.key)}: {problem.says}" for problem in problems)
        raise BadConfig(f"{path} stays as it was: {why}")


# Removing


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
        uses = backend_uses(name, loaded, raw, installation.home, store)
    if uses:
        places = "\n".join(f"  {each.where}: {each.free}" for each in uses)
        raise Failed(f"{name} was not removed, because it is in use:\n{places}")
    if len(backends) == 1:
        raise Failed(f"{name} is the only backend of {path}: add another one first, or delete the file.")
    fresh = without_backend(text, name)
    if fresh is None:
        why = f"{name} has no table of its own: write it as [{format_key(('backends', name))}], or edit the file"
        raise BadConfig(f"{path} stays as it was: {why}.")
    _check(tomllib.loads(fresh), path)
    write_private(path, fresh.encode())
    return path
