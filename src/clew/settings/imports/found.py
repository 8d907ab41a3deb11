"""What the settings of another tool come to in clew's words: backends, rules, and what cannot be carried over.

The plan carries them over into the text of clew.toml: what is there stays as it is, to the byte.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from difflib import unified_diff
from typing import Any, Final, TypeAlias, cast
from urllib.parse import urlsplit

from msgspec import Struct, field

from clew.backends.presets import preset_of_host, presets
from clew.errors import SettingsInvalid
from clew.model.json import JsonValue
from clew.settings.edits import with_backend
from clew.settings.examine import examine
from clew.settings.problems import format_key
from clew.settings.schema import toml_value

Tree: TypeAlias = Mapping[str, Any]
_ENDS: Final = {"/chat/completions": "openai-chat", "/responses": "openai-responses", "/v1/messages": "anthropic"}
_VARIABLE: Final = re.compile(r"\$\{?([A-Za-z_]\w*)\}?|os\.environ/([A-Za-z_]\w*)")


class LeftOut(Struct, frozen=True):
    """Something that is not carried over, and why, with what to do instead."""

    what: str
    why: str


class FoundBackend(Struct, frozen=True):
    """A backend as a table of clew.toml. `name` is the wish; another one is taken where it is used already."""

    name: str
    values: dict[str, JsonValue]


class FoundSettings(Struct):
    """Everything that one source has, in its order."""

    backends: list[FoundBackend] = field(default_factory=list[FoundBackend])
    active: str = ""
    failover: list[str] = field(default_factory=list[str])
    rules: list[dict[str, JsonValue]] = field(default_factory=list[dict[str, JsonValue]])
    left_out: list[LeftOut] = field(default_factory=list[LeftOut])

    def add(self, backend: FoundBackend) -> FoundBackend:
        """Keep it under a name of its own, and give it."""
        taken = {each.name for each in self.backends}
        names = (backend.name, *(f"{backend.name}-{number}" for number in range(2, len(taken) + 3)))
        own = FoundBackend(next(name for name in names if name not in taken), backend.values)
        self.backends.append(own)
        return own

    def leave(self, what: str, why: str) -> None:
        self.left_out.append(LeftOut(what, why))

    def key_for(self, name: str, given: object, usual: str = "") -> str:
        """Where clew finds the key: the variable that the source names. A key that stands in the source is not copied: a
        variable gets a name, and what to do is listed."""
        text = given.strip() if isinstance(given, str) else ""
        if named := _VARIABLE.fullmatch(text):
            return f"${{{named[1] or named[2]}}}"
        variable = usual or f"{re.sub(r'[^A-Za-z0-9]+', '_', name).upper()}_API_KEY"
        if text:
            self.leave(f"the key of {name}", f"keys are not copied: put it into the variable {variable}")
        return f"${{{variable}}}"


def tree(value: object) -> Tree:
    """A table of the source; an empty one where something else stands."""
    return cast("Tree", value) if isinstance(value, Mapping) else {}


def items(value: object) -> Sequence[Any]:
    return cast("Sequence[Any]", value) if isinstance(value, list) else ()


def text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def name_from(words: str) -> str:
    """A backend's name from what people call it."""
    return re.sub(r"[^a-z0-9._-]+", "-", words.casefold()).strip("-._")[:64] or "imported"


def endpoint(url: str, dialect: str = "") -> dict[str, JsonValue]:
    """`preset`, `url` and `dialect` for an address. A known host gives its preset; other hosts keep their address."""
    url = url.strip().rstrip("/")
    if not urlsplit(url).hostname:
        raise SettingsInvalid(f"{url or 'the address'} is not the address of a server")
    for end, of in _ENDS.items():
        if url.endswith(end):
            url, dialect = url.removesuffix(end), of
    known = preset_of_host(url)
    if known is None:
        return {"url": url, "dialect": dialect}
    spoken = known.speaking(dialect)
    same = spoken is not None and (spoken.dialect == known.dialect)
    return {
        "preset": known.name,
        "dialect": "" if spoken is None or same else dialect,
        "url": "" if known.url else url,
    }


def usual_variable(preset: str) -> str:
    """The variable in which the vendor's own tools look for a key."""
    row = presets().get(preset)
    return row.variables[0].name if row and row.variables else ""


def is_keyless(preset: str) -> bool:
    row = presets().get(preset)
    return bool(row and row.keyless)


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
    tables: dict[str, Any] = tomllib.loads(old).get("backends", {})
    for backend in found.backends:
        values = {key: value for key, value in backend.values.items() if value not in ("", None, {})}
        if same := next((name for name, table in tables.items() if table == values), ""):
            names[backend.name] = same
            known.append(same)
            continue
        name = _free_name(backend, tables)
        if why := _faults(with_backend(old, name, values), environ):
            left_out.append(LeftOut(f"backend {backend.name}", why))
            continue
        text, tables[name] = with_backend(text, name, values), values
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
