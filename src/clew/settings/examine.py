"""From a raw document to settings, or to every mistake in it.

First the shape of every value, then what the values mean together. A part whose shape is wrong does not hide the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Final, cast

import msgspec
from msgspec import Struct, structs

from clew.backends.row import Backend
from clew.errors import SettingsInvalid
from clew.model.facts import ModelFacts
from clew.model.facts.models import merge_overrides
from clew.settings.asked_backend import NO_BACKEND, AskedBackend, with_asked_backend
from clew.settings.backend_rows import backend_of, named_options
from clew.settings.document import BackendTable, Document, discover_backends
from clew.settings.key_sources import VariableUnset, expand_variables
from clew.settings.login import login_problems
from clew.settings.problems import Key, Problem, fields_of, format_key, nearest, problems_of
from clew.settings.values import DisabledBackend, Settings
from clew.settings.variables import BuildVariable, build_variables, debug_variable, with_debug_variable, with_variables

_SELECTORS: Final = ("family", "agent", "request_class")
_NOT_A_COLUMN: Final = ("id", "known")


class ExaminedDocument(Struct, frozen=True, kw_only=True):
    """The settings, or the problems that there are instead."""

    settings: Settings | None = None
    problems: tuple[Problem, ...] = ()
    unset: tuple[Problem, ...] = ()
    """Variables of single backends that are not set. If keys are not looked up, these backends have rows all the same."""
    warnings: tuple[str, ...] = ()
    origins: dict[Key, str] = {}
    overruling: dict[Key, str] = {}
    """Where keys come from that override the file."""
    variables: tuple[BuildVariable, ...] = ()


def examine(
    raw: Mapping[str, object], environ: Mapping[str, str], *, keys: bool, asked: AskedBackend = NO_BACKEND
) -> ExaminedDocument:
    """What a document says, with the environment's part in it, and with the backend that a command asked for. `keys=False`
    looks up no key. Raises SettingsInvalid if that backend's key is not there."""
    unset: list[Problem] = []
    filled = cast("dict[str, object]", _with_variables(raw, environ, (), unset))
    of_backends = [each for each in unset if each.key[:1] == ("backends",) and len(each.key) > 2]
    problems = [each for each in unset if each not in of_backends]
    unset_keys = {each.key for each in unset}
    problems += [each for each in problems_of(filled, Document) if each.key not in unset_keys]
    document = msgspec.convert(_without_problems(filled, [*problems, *of_backends]), Document)
    rows = _BackendRows(document, filled, environ, keys=keys, asked=asked)
    problems += rows.problems
    unset = of_backends + rows.unset
    disabled = {name: each for name, each in disabled_by(unset).items() if name not in rows.backends}
    broken = {str(each.key[1]) for each in problems if each.key[:1] == ("backends",) and len(each.key) > 1}
    problems += _document_problems(document, {*rows.backends, *rows.lost, *broken, *disabled})
    models, model_problems = _models(document)
    problems += model_problems
    if problems or models is None:
        return ExaminedDocument(problems=tuple(problems))
    build, debug = with_variables(document.build, environ), debug_variable(environ)
    variables = (*build_variables(document.build, environ), *debug)
    log = with_debug_variable(document.log, environ)
    settings = structs.replace(_settings(document, rows, disabled, models), build=build, log=log)
    named = {*settings.backends, *settings.disabled}
    if not named:
        return ExaminedDocument(problems=(Problem(("backends",), "no backend is left"),))
    if settings.active not in named:  # seen only now that every key was looked up
        left_out = f"the backend {settings.active!r} was left out, since its key is empty"
        return ExaminedDocument(problems=(Problem(("active",), left_out),))
    return ExaminedDocument(
        settings=settings,
        unset=tuple(unset),
        warnings=(
            *rows.warnings,
            *([build.budget.warning] if build.budget and build.budget.warning else ()),
            *(each.says for each in debug if each.is_bad),
        ),
        origins=rows.origins | {each.key: f"environment: {each.name}" for each in variables if each.key},
        overruling={each.key: f"environment: {each.name}" for each in debug if each.key},
        variables=variables,
    )


def _with_variables(value: object, environ: Mapping[str, str], key: Key, unset: list[Problem]) -> object:
    """The value with variables replaced, but not in keys: how a key is written says where it comes from."""
    if isinstance(value, dict):
        table = cast("dict[str, object]", value)
        return {name: _with_variables(each, environ, (*key, name), unset) for name, each in table.items()}
    if isinstance(value, list):
        items = cast("list[object]", value)
        return [_with_variables(each, environ, (*key, at), unset) for at, each in enumerate(items)]
    if not isinstance(value, str) or (key[:1] == ("backends",) and key[2:3] in (("key",), ("keys",))):
        return value
    try:
        return expand_variables(value, environ)
    except VariableUnset as error:
        unset.append(Problem(key, str(error)))
        return value


def disabled_by(unset: Iterable[Problem]) -> dict[str, DisabledBackend]:
    """The backends whose variables are not set, by name; the first key of several stands for all."""
    found: dict[str, DisabledBackend] = {}
    for each in unset:
        name = str(each.key[1])
        first = found.get(name)
        why = f"{first.why}; {each.says}" if first else each.says
        found[name] = DisabledBackend(name=name, key=first.key if first else format_key(each.key), why=why)
    return found


def _without_problems(raw: Mapping[str, object], problems: list[Problem]) -> dict[str, object]:
    """The document without the backends, and without the other tables, in which something is wrong."""
    bad = {each.key[:2] if each.key[:1] == ("backends",) else each.key[:1] for each in problems}
    kept = {name: value for name, value in raw.items() if (name,) not in bad}
    if tables := _table(kept.get("backends")):
        kept["backends"] = {name: each for name, each in tables.items() if ("backends", name) not in bad}
    return kept


def _table(value: object) -> Mapping[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


class _BackendRows:
    """The rows of all backends, from the settings file or from the environment."""

    def __init__(
        self,
        document: Document,
        raw: Mapping[str, object],
        environ: Mapping[str, str],
        *,
        keys: bool,
        asked: AskedBackend = NO_BACKEND,
    ) -> None:
        self.backends: dict[str, Backend] = {}
        self.lost: set[str] = set()
        self.problems: list[Problem] = []
        self.unset: list[Problem] = []
        self.warnings: list[str] = []
        self.origins: dict[Key, str] = {}
        tables: Mapping[str, BackendTable] = document.backends
        if not raw.get("backends"):
            found = discover_backends(environ)
            tables = found.tables
            self.warnings += found.warnings
            self.origins |= {("backends", name): where for name, where in found.origins.items() if where != "default"}
        if asked.name not in _table(raw.get("backends")) or asked.name in tables:  # else its own table is faulty
            tables = with_asked_backend(tables, asked, environ)
        self.names = list({**_table(raw.get("backends")), **tables})
        """All of them, in the order of the file."""
        for name, table in tables.items():
            made = backend_of(name, table, named_options(raw, name), environ, keys=keys)
            self.problems += made.problems
            self.unset += made.unset
            self.warnings += made.warnings
            self.origins |= made.origins
            if made.backend is None:
                self.lost.add(name)
            else:
                self.backends[name] = made.backend


def _document_problems(document: Document, known: set[str]) -> Iterator[Problem]:
    """What is wrong with values that have the right shape. `known` are the backends, broken ones too: a reference to a
    broken backend is no second mistake."""
    if document.active and document.active not in known:
        yield Problem(("active",), _no_backend(document.active, known))
    for at, name in enumerate(document.failover):
        if name not in known:
            yield Problem(("failover", at), _no_backend(name, known))
    for at, rule in enumerate(document.rules):
        if rule.backend not in known:
            yield Problem(("rules", at, "backend"), _no_backend(rule.backend, known))
        if sum(bool(getattr(rule, each)) for each in _SELECTORS) != 1:
            yield Problem(("rules", at), f"exactly one of {', '.join(_SELECTORS)} says which requests are meant")
    for table in ("timeouts", "retry"):
        for name, value in asdict(getattr(document, table)).items():
            if value is not None and (value < 0 or (value == 0 and table == "timeouts")):
                yield Problem((table, name), f"expected a number above 0, got {value:g}")
    yield from _certificate_problems(document.ca_file)
    yield from login_problems(document.login)


def _no_backend(name: str, known: set[str]) -> str:
    return f"there is no backend {name!r}{nearest(name, known)} (known: {', '.join(sorted(known))})"


def _certificate_problems(file: str) -> Iterator[Problem]:
    """Why no certificate can be read from this file; "" is no file."""
    if not file:
        return
    if not Path(file).is_file():
        yield Problem(("ca_file",), "there is no such file")
        return
    import ssl  # late: few installations have such a file, and every command reads the settings

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(file)
    except ssl.SSLError:
        yield Problem(("ca_file",), "there is no certificate in that file; it has to be PEM")
    except OSError as error:
        yield Problem(("ca_file",), f"that file cannot be read: {error.strerror}")


def _models(document: Document) -> tuple[Mapping[str, ModelFacts] | None, list[Problem]]:
    """The facts about models, with the operator's on top; or what is wrong with those."""
    fields = {name: kind for name, kind in fields_of(ModelFacts).items() if name not in _NOT_A_COLUMN} | {"as": str}
    problems: list[Problem] = []
    for model, table in document.models.items():
        for column, value in table.items():
            key = ("models", model, column)
            if column in fields:
                problems += problems_of(value, fields[column], key)
            else:
                allowed = f"{nearest(column, fields)} (allowed: {', '.join(fields)})"
                problems.append(Problem(key, f"there is no such column{allowed}"))
    if problems:
        return None, problems
    try:
        return merge_overrides(document.models, file="models"), []
    except SettingsInvalid as error:
        # Names of models have dots too, so the table's own names tell where the column begins.
        names = [name for name in document.models if f"{error.key}.".startswith(f"{name}.")]
        name = max(names, key=len, default="")
        key = ("models", *filter(None, [name, error.key[len(name) + 1 :] if name else ""]))
        return None, [Problem(key, str(error).removeprefix(f"models: {error.key}: "))]


def _settings(
    document: Document, rows: _BackendRows, disabled: Mapping[str, DisabledBackend], models: Mapping[str, ModelFacts]
) -> Settings:
    """A rule for a backend that was left out is left out too. A disabled backend keeps its rules, so that no other backend
    answers in its place; only a failover goes on to the next."""
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
        run=document.run,
        models=models,
        chat=document.chat,
        login=document.login,
    )
