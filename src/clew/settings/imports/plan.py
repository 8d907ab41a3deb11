"""Carry found settings over into the text of clew.toml: what is there stays as it is, to the byte."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from difflib import unified_diff
from typing import Any

from msgspec import Struct

from clew.model.json import JsonValue
from clew.settings.edits import with_backend
from clew.settings.examine import examine
from clew.settings.imports.found import FoundBackend, FoundSettings, LeftOut, name_from
from clew.settings.problems import format_key
from clew.settings.schema import toml_value


class ImportPlan(Struct, frozen=True, kw_only=True):
    """The new text of the settings file, and what it comes to."""

    old: str
    new: str
    added: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    """Backends that the file has already."""
    active: str = ""
    """What the source uses now. The file's own choice stays."""
    left_out: tuple[LeftOut, ...] = ()

    def diff(self) -> list[str]:
        lines = unified_diff(self.old.splitlines(), self.new.splitlines(), "before", "after", lineterm="", n=2)
        return [*lines][2:]


def plan_import(found: FoundSettings, old: str, environ: Mapping[str, str]) -> ImportPlan:
    """The file with all that can be carried over. Each backend is checked as if the file were used with it."""
    text, names = old, dict[str, str]()
    added, known, left_out = list[str](), list[str](), list(found.left_out)
    for backend in found.backends:
        tables: dict[str, Any] = tomllib.loads(text).get("backends", {})
        values = {key: value for key, value in backend.values.items() if value not in ("", None, {})}
        if same := next((name for name, table in tables.items() if table == values), ""):
            names[backend.name] = same
            known.append(same)
            continue
        name = _free_name(backend, tables)
        fresh = with_backend(text, name, values)
        if why := _faults(fresh, environ):
            left_out.append(LeftOut(f"backend {backend.name}", why))
            continue
        text = fresh
        names[backend.name] = name
        added.append(name)
    text = _with_failover(text, [names[each] for each in found.failover if each in names], left_out)
    for rule in found.rules:
        if str(rule["backend"]) in names:
            text = _with_rule(text, {**rule, "backend": names[str(rule["backend"])]})
    active = names.get(found.active, "")
    return ImportPlan(old=old, new=text, added=tuple(added), known=tuple(known), active=active, left_out=tuple(left_out))


def _free_name(backend: FoundBackend, tables: Mapping[str, object]) -> str:
    wishes = [backend.name, name_from(str(backend.values.get("preset") or backend.name))]
    return next(
        name for name in (*wishes, *(f"{backend.name}-{n}" for n in range(2, len(tables) + 3))) if name not in tables
    )


def _faults(text: str, environ: Mapping[str, str]) -> str:
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return f"it cannot be added to this file: {error}"
    problems = examine(raw, environ, keys=False).problems
    return "; ".join(f"{format_key(problem.key)}: {problem.says}" for problem in problems)


def _with_failover(text: str, names: list[str], left_out: list[LeftOut]) -> str:
    """The list of the whole file: a key before all tables."""
    wanted: list[JsonValue] = [*dict.fromkeys(names)]
    if len(wanted) < 2:
        return text
    if tomllib.loads(text).get("failover"):
        left_out.append(
            LeftOut("the order of fallbacks", f"the file has a list `failover`; the other is {', '.join(map(str, wanted))}")
        )
        return text
    line = f"failover = {toml_value(wanted)}\n"
    if own := re.search(r"^active\s*=.*\n", text, re.MULTILINE):
        return text[: own.end()] + line + text[own.end() :]
    return line + text


def _with_rule(text: str, rule: Mapping[str, JsonValue]) -> str:
    if any(rule == each for each in tomllib.loads(text).get("rules", [])):
        return text
    lines = [f"{key} = {toml_value(value)}" for key, value in rule.items() if value]
    return "\n".join([text.rstrip(), "", "[[rules]]", *lines, ""])
