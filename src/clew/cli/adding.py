"""Puts a backend into the settings file: a table at its end, and only if the file can be used with it.

The rest of the file stays as it was, to the byte. Without a file one is written first, as `clew config init` does: a file is
the whole list of backends, so those that were found without one must be in it.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from clew.backends.presets import presets
from clew.cli.endings import BadConfig, Failed
from clew.settings.examine import examine
from clew.settings.lines import spelled
from clew.settings.load import config_place
from clew.settings.private_file import write_private
from clew.settings.shown import toml_value
from clew.settings.template import template

__all__ = ["add_backend", "backend_table"]


def backend_table(name: str, fields: Mapping[str, str]) -> str:
    """The table as a person would write it."""
    said = [f"{key} = {toml_value(value)}" for key, value in fields.items() if value]
    return "\n".join([f"[{spelled(('backends', name))}]", *said, ""])


def add_backend(name: str, fields: Mapping[str, str], file: Path | None) -> Path:
    """Write it; the file that it is in. A known vendor's key is where the vendor keeps it, if nothing else is said."""
    path = config_place(os.environ, file)
    text = _text(path)
    if name in _backends(text, path):
        raise Failed(_taken(name, path))
    fresh = f"{text.rstrip()}\n\n{backend_table(name, {**fields, 'key': fields.get('key', '') or _usual_key(fields)})}"
    problems = examine(_with_table(fresh, path), os.environ, keys=False).problems
    if problems:
        said = "; ".join(f"{spelled(problem.key)}: {problem.says}" for problem in problems)
        raise BadConfig(f"{path} stays as it was: {said}")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(path, fresh.encode())
    return path


def _taken(name: str, path: Path) -> str:
    if path.exists():
        return f"{path} has a backend {name!r} already: give another --name, or edit the file."
    return (
        f"there is a backend {name!r} already, without a file: give another --name, or edit what `clew config init` writes."
    )


def _with_table(text: str, path: Path) -> dict[str, object]:
    """TOML takes no table more for what stands on one line."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        said = "its `backends` stand on one line, and a table cannot be added to that: write them as [backends.NAME]"
        raise BadConfig(f"{path} stays as it was: {said}") from None


def _usual_key(fields: Mapping[str, str]) -> str:
    row = presets().get(fields.get("preset", ""))
    return f"${{{row.variables[0].name}}}" if row and row.variables and not row.keyless else ""


def _text(path: Path) -> str:
    """An empty file is as good as none: clew does not use it either."""
    try:
        text = path.read_text("utf-8") if path.exists() else ""
        return text if text.strip() else template(os.environ)
    except (OSError, UnicodeDecodeError) as error:
        raise Failed(f"cannot read {path}: {error}") from None


def _backends(text: str, path: Path) -> Mapping[str, object]:
    try:
        found: Any = tomllib.loads(text).get("backends", {})
    except tomllib.TOMLDecodeError as error:
        raise BadConfig(f"{path} cannot be used: {error}; `clew config check` says more.") from None
    return cast("Mapping[str, object]", found) if isinstance(found, dict) else {}
