"""From a raw document to settings, or to everything that is wrong with it.

First the shape of every value, then what the values mean together. A part whose shape is wrong is put aside, and the rest is
still looked at: one misspelt key must not hide the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, cast

import msgspec
from msgspec import Struct

from clew.backends.row import Backend
from clew.errors import SettingsInvalid
from clew.model.facts import ModelFacts
from clew.settings.document import BackendTable, Document
from clew.settings.found import discovered
from clew.settings.lines import Key, spelled
from clew.settings.manners import Given, given_in
from clew.settings.rows import backend_of
from clew.settings.shape import Problem, fields_of, nearest, problems_of
from clew.settings.sources import VariableUnset, expanded
from clew.settings.values import Disabled, Rule, Settings
from clew.thinking.profiles import merge_overrides

__all__ = ["Examined", "disabled_by", "examine"]

_SELECTORS: Final = ("family", "agent", "request_class")
_NOT_A_COLUMN: Final = ("id", "known")


class Examined(Struct, frozen=True, kw_only=True):
    """The settings, or the problems that there are instead."""

    settings: Settings | None = None
    problems: tuple[Problem, ...] = ()
    unset: tuple[Problem, ...] = ()
    """What single backends lack: variables that are not set. Without `keys`, they have their rows all the same."""
    warnings: tuple[str, ...] = ()
    origins: dict[Key, str] = {}


def examine(raw: Mapping[str, object], environ: Mapping[str, str], *, keys: bool) -> Examined:
    """What a document says, with the environment's part in it. `keys=False` looks up no key."""
    unset: list[Problem] = []
    filled = cast("dict[str, object]", _filled(raw, environ, (), unset))
    open_ = {each.key for each in unset}
    problems = [each for each in unset if not _is_of_backend(each)]
    problems += [each for each in problems_of(filled, Document) if each.key not in open_]
    unset = [each for each in unset if _is_of_backend(each)]
    document = msgspec.convert(_without(filled, [*problems, *unset]), Document)
    rows = _Rows(document, filled, environ, keys=keys)
    problems += rows.problems
    unset += rows.unset
    disabled = {name: each for name, each in disabled_by(unset).items() if name not in rows.backends}
    problems += _meanings(document, {*rows.backends, *rows.lost, *_broken(problems), *disabled})
    models, wrong = _models(document)
    problems += wrong
    if problems or models is None:
        return Examined(problems=tuple(problems))
    settings = _settings(document, rows, disabled, models)
    problems = list(_after(settings))
    return Examined(
        settings=None if problems else settings,
        problems=tuple(problems),
        unset=tuple(unset),
        warnings=tuple(rows.warnings),
        origins=rows.origins,
    )


def _filled(value: object, environ: Mapping[str, str], key: Key, unset: list[Problem]) -> object:
    """With variables put in, but for keys: how these are written says where they come from."""
    if isinstance(value, dict):
        table = cast("dict[str, object]", value)
        return {name: _filled(each, environ, (*key, name), unset) for name, each in table.items()}
    if isinstance(value, list):
        return [_filled(each, environ, (*key, at), unset) for at, each in enumerate(cast("list[object]", value))]
    if not isinstance(value, str) or (key[:1] == ("backends",) and key[2:3] in (("key",), ("keys",))):
        return value
    try:
        return expanded(value, environ)
    except VariableUnset as error:
        unset.append(Problem(key, str(error)))
        return value


def _is_of_backend(problem: Problem) -> bool:
    return problem.key[:1] == ("backends",) and len(problem.key) > 2


def disabled_by(unset: Iterable[Problem]) -> dict[str, Disabled]:
    """The backends that lack something, by name; the first key of several stands for all."""
    found: dict[str, Disabled] = {}
    for each in unset:
        name = str(each.key[1])
        first = found.get(name)
        why = f"{first.why}; {each.says}" if first else each.says
        found[name] = Disabled(name=name, key=first.key if first else spelled(each.key), why=why)
    return found


def _without(raw: Mapping[str, object], problems: list[Problem]) -> dict[str, object]:
    """The document without the backends, and without the other tables, in which something is wrong."""
    bad = {each.key[:2] if each.key[:1] == ("backends",) else each.key[:1] for each in problems}
    kept = {name: value for name, value in raw.items() if (name,) not in bad}
    backends = kept.get("backends")
    if isinstance(backends, dict):
        tables = cast("dict[str, object]", backends)
        kept["backends"] = {name: each for name, each in tables.items() if ("backends", name) not in bad}
    return kept


def _broken(problems: list[Problem]) -> set[str]:
    """Backends that are there but cannot be read; who refers to one makes no second mistake."""
    return {str(each.key[1]) for each in problems if each.key[:1] == ("backends",) and len(each.key) > 1}


class _Rows:
    """The rows of all backends: the document's, or those that the environment gives."""

    def __init__(self, document: Document, raw: Mapping[str, object], environ: Mapping[str, str], *, keys: bool) -> None:
        self.backends: dict[str, Backend] = {}
        self.lost: set[str] = set()
        self.problems: list[Problem] = []
        self.unset: list[Problem] = []
        self.warnings: list[str] = []
        self.origins: dict[Key, str] = {}
        tables: Mapping[str, BackendTable] = document.backends
        if not raw.get("backends"):
            tables = self._discovered(environ)
        self.names = list(_written(raw) or tables)
        """All of them, as the file has them."""
        for name, table in tables.items():
            self._make(name, table, given_in(raw, name), environ, keys=keys)

    def _discovered(self, environ: Mapping[str, str]) -> Mapping[str, BackendTable]:
        found = discovered(environ)
        self.warnings += found.warnings
        self.origins |= {("backends", name): where for name, where in found.origins.items() if where != "default"}
        return found.tables

    def _make(self, name: str, table: BackendTable, given: Given, environ: Mapping[str, str], *, keys: bool) -> None:
        made = backend_of(name, table, given, environ, keys=keys)
        self.problems += made.problems
        self.unset += made.unset
        self.warnings += made.warnings
        self.origins |= made.origins
        if made.backend is None:
            self.lost.add(name)
        else:
            self.backends[name] = made.backend


def _written(raw: Mapping[str, object]) -> Mapping[str, object]:
    """The backends of the file; none where that is no table, which is a problem of its own."""
    backends = raw.get("backends")
    return cast("dict[str, object]", backends) if isinstance(backends, dict) else {}


def _meanings(document: Document, known: set[str]) -> Iterator[Problem]:
    """What the values mean together."""
    if document.active and document.active not in known:
        yield Problem(("active",), _no_backend(document.active, known))
    for at, name in enumerate(document.failover):
        if name not in known:
            yield Problem(("failover", at), _no_backend(name, known))
    for at, rule in enumerate(document.rules):
        yield from _rule_problems(rule, ("rules", at), known)
    for table in ("timeouts", "retry"):
        yield from _negative(asdict(getattr(document, table)), table)
    if document.ca_file and (problem := _wrong_with(Path(document.ca_file))):
        yield Problem(("ca_file",), problem)


def _no_backend(name: str, known: set[str]) -> str:
    return f"there is no backend {name!r}{nearest(name, known)} (known: {', '.join(sorted(known))})"


def _rule_problems(rule: Rule, key: Key, known: set[str]) -> Iterator[Problem]:
    if rule.backend not in known:
        yield Problem((*key, "backend"), _no_backend(rule.backend, known))
    if sum(bool(getattr(rule, each)) for each in _SELECTORS) != 1:
        yield Problem(key, f"exactly one of {', '.join(_SELECTORS)} says which requests are meant")


def _negative(numbers: Mapping[str, float | None], table: str) -> Iterator[Problem]:
    for name, value in numbers.items():
        if value is not None and (value < 0 or (value == 0 and table == "timeouts")):
            yield Problem((table, name), f"expected a number above 0, got {value:g}")


def _models(document: Document) -> tuple[Mapping[str, ModelFacts] | None, list[Problem]]:
    fields = {name: kind for name, kind in fields_of(ModelFacts).items() if name not in _NOT_A_COLUMN} | {"as": str}
    problems = [
        problem
        for name, table in document.models.items()
        for column, value in table.items()
        for problem in _column_problems(value, ("models", name, column), fields)
    ]
    if problems:
        return None, problems
    try:
        return merge_overrides(document.models, file="models"), []
    except SettingsInvalid as error:
        return None, [Problem(_model_key(error.key, document), str(error).removeprefix(f"models: {error.key}: "))]


def _column_problems(value: object, key: Key, fields: Mapping[str, Any]) -> Iterator[Problem]:
    column = str(key[-1])
    if column not in fields:
        yield Problem(key, f"there is no such column{nearest(column, fields)} (allowed: {', '.join(fields)})")
    else:
        yield from problems_of(value, fields[column], key)


def _model_key(said: str, document: Document) -> Key:
    """Names of models have dots too, so the table's own names tell where the column begins."""
    for name in sorted(document.models, key=len, reverse=True):
        if said == name or said.startswith(f"{name}."):
            return ("models", name, *filter(None, [said[len(name) + 1 :]]))
    return ("models",)


def _settings(
    document: Document, rows: _Rows, disabled: Mapping[str, Disabled], models: Mapping[str, ModelFacts]
) -> Settings:
    """Who is sent to a backend that was left out is not sent anywhere else by that rule. One that is disabled keeps its
    rules, so that nobody else answers in its place; only a failover goes on to the next."""
    backends = rows.backends
    there = [name for name in rows.names if name in backends or name in disabled]
    return Settings(
        active=document.active or ("claude" if "claude" in there else next(iter(there), "")),
        backends=backends,
        disabled=disabled,
        rules=tuple(rule for rule in document.rules if rule.backend in there),
        failover=tuple(name for name in document.failover if name in backends),
        thinking=document.thinking,
        store=document.store,
        gateway=document.gateway,
        retry=document.retry,
        timeouts=document.timeouts,
        first_content_seconds=document.first_content_seconds,
        proxy=document.proxy,
        ca_file=document.ca_file,
        log=document.log,
        models=models,
        build=document.build,
        chat=document.chat,
    )


def _after(settings: Settings) -> Iterator[Problem]:
    """What can only be seen when every key was looked up."""
    if not settings.backends and not settings.disabled:
        yield Problem(("backends",), "no backend is left")
    elif settings.active not in settings.backends and settings.active not in settings.disabled:
        yield Problem(("active",), f"the backend {settings.active!r} was left out, since its key is empty")


def _wrong_with(authorities: Path) -> str:
    """Why nobody can be trusted by this file; "" if all is well."""
    if not authorities.is_file():
        return "there is no such file"
    import ssl  # late: hardly anybody has such a file, and every command reads the settings

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(authorities)
    except ssl.SSLError:
        return "there is no certificate in that file; it has to be PEM"
    except OSError as error:
        return f"that file cannot be read: {error.strerror}"
    return ""
