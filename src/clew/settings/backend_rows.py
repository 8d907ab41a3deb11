"""From a backend's table to its row: the preset filled in, the URL checked, the keys looked up, the deviations merged.

A backend deviates from its dialect as its vendor's preset says, with what the operator says on top. The operator's word
overrides the preset's also where that speaks of some models only; the operator's own rules for some models come before all
others. A key that a table does not name is not there: a default must not undo a preset, so it matters which keys are named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias, cast

from msgspec import Struct, structs

from clew.backends.address import is_local, url_fault
from clew.backends.credential import Auth, Secret
from clew.backends.presets import Preset, preset_of_host, presets
from clew.backends.row import DIALECTS, Backend, Manner, Quirks
from clew.errors import SettingsInvalid
from clew.model.facts.chat_backends import BY_MODEL, NEVER, knobs, text_call_families, validators
from clew.model.origin import ANTHROPIC
from clew.settings.document import BackendTable
from clew.settings.key_sources import FoundKey, VariableUnset, find_key, unset_message, variables_without
from clew.settings.problems import Key, Problem, format_key, nearest

KEYED: Final[tuple[Auth, ...]] = ("key", "bearer", "api-key")
OPTION_TABLES: Final = ("quirks", "wire", "speech", "responses")
_TABLES_OF: Final[Mapping[str, str]] = {"wire": "openai-chat", "speech": "openai-chat", "responses": "openai-responses"}
"""The dialect that a table is of."""
_USUAL_AUTH: Final[Mapping[str, Auth]] = {"anthropic": "key", "openai-chat": "bearer", "openai-responses": "bearer"}
"""How a key is sent to a vendor without a preset."""
_APPENDED: Final = ("/chat/completions", "/v1/messages", "/responses")
_CHAT_COUNTS: Final = ("most_tokens", "stops", "user_length")
_RESPONSES_COUNTS: Final = ("most_tokens", "least_tokens", "user_length", "cache_marks")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_OTHER_DIALECT: Final = "it is of dialect {}, and this backend speaks {}"
_ADVICE: Final = ': say dialect = "{}" to keep it, or leave it out'

_Names: TypeAlias = Mapping[str, frozenset[str]]


class NamedOptions(Struct, frozen=True):
    """Which keys the option tables of a backend name, and those of its rules by model."""

    whole: _Names = {}
    by_model: Mapping[str, _Names] = {}


class BackendResult(Struct, frozen=True, kw_only=True):
    """A row, or why there is none. `origins` are the fields that the table left open, with what filled them."""

    backend: Backend | None = None
    problems: tuple[Problem, ...] = ()
    unset: tuple[Problem, ...] = ()
    """Why the backend is disabled: variables for all of its keys are not set."""
    warnings: tuple[str, ...] = ()
    origins: dict[Key, str] = {}


class _Keys(Struct, frozen=True, kw_only=True):
    """The keys of a backend. `named` is how many its table names."""

    found: tuple[Secret, ...] = ()
    found_in: tuple[str, ...] = ()
    named: int = 0
    problems: tuple[Problem, ...] = ()
    unset: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()


def named_options(raw: Mapping[str, object], name: str) -> NamedOptions:
    """The options that the document names for a backend; none for a backend that is not in it."""

    def inner(table: Mapping[str, object], key: str) -> Mapping[str, object]:
        return cast("Mapping[str, object]", table.get(key, {}))

    def names(table: Mapping[str, object]) -> _Names:
        return {part: frozenset(inner(table, part)) for part in OPTION_TABLES}

    table = inner(inner(raw, "backends"), name)
    rules = inner(table, "by_model")
    return NamedOptions(names(table), {pattern: names(inner(rules, pattern)) for pattern in rules})


def backend_of(
    name: str, table: BackendTable, given: NamedOptions, environ: Mapping[str, str], *, keys: bool = True
) -> BackendResult:
    """The row of a table. `given` are the options that it names; with `keys=False` no key is looked up."""
    named = presets().get(table.preset)
    dialect = table.dialect or (named.dialect if named else DIALECTS[0])
    preset = named.speaking(dialect) if named else None
    url = (table.url or (preset.url if preset else "")).rstrip("/")
    problems = (*_table_problems(name, table, preset, url), *_option_problems(name, table, given, dialect))
    if problems:
        return BackendResult(problems=problems)
    found = _find_keys(name, table, environ, look=keys)
    vendor = preset or preset_of_host(url)
    auth = _auth(name, table, vendor, found, dialect)
    if found.problems or isinstance(auth, Problem):
        return BackendResult(problems=found.problems or (cast("Problem", auth),))
    if keys and found.unset and not found.found:
        return BackendResult(unset=found.unset)
    if keys and found.named and not found.found:
        return BackendResult(warnings=(f"backends.{name}: left out, since its key is empty",))
    realm = table.realm or (vendor.realm if vendor else name)
    manner, by_model = _manners(table, given, realm, vendor.speaking(dialect) if vendor else None)
    same = {each: getattr(table, each) for each in ("timeouts", "preset", "allow_private", "max_parallel", "account")}
    row = Backend(
        name=name,
        dialect=dialect,
        url=url,
        path=table.path or (preset.path if preset else ""),
        realm=realm,
        auth=auth,
        keys=found.found,
        keys_from=found.found_in,
        model=table.model or (preset.model if preset else ""),
        # The operator's `model` is meant for all names, so it removes the preset's mapping.
        models=table.models if preset is None or table.model else {**preset.models, **table.models},
        own_models=() if preset is None or table.model else preset.own_models,
        quirks=manner.quirks,
        wire=manner.wire,
        speech=manner.speech,
        responses=manner.responses,
        by_model=by_model,
        **same,
    )
    unset = found.unset if len(found.unset) == found.named else ()
    warnings = [*found.warnings, *(f"{format_key(each.key)}: {each.says}" for each in found.unset if not unset)]
    if url.startswith("http:") and found.found and not is_local(url):
        warnings.append(f"backends.{name}: its key goes over the network unencrypted: use https")
    origins = {} if preset is None else _origins(name, table, preset, given)
    return BackendResult(backend=row, unset=unset, warnings=tuple(warnings), origins=origins)


def _table_problems(name: str, table: BackendTable, preset: Preset | None, url: str) -> Iterator[Problem]:
    key: Key = ("backends", name)
    named, known = presets().get(table.preset), presets()
    if not _NAME.fullmatch(name):
        yield Problem(key, "a name has letters, digits, dots and dashes, at most 64")
    if table.preset and named is None:
        meant = f"there is no such preset{nearest(table.preset, known)} (known: {', '.join(known)})"
        yield Problem((*key, "preset"), meant)
    elif named and preset is None:
        spoken = ", ".join((named.dialect, *named.others))
        yield Problem((*key, "dialect"), f"nothing is known of such an endpoint of {named.title}: it speaks {spoken}")
    elif not url and preset:
        yield Problem(key, f"it needs a url: that of {preset.title} is another for each customer")
    elif not url:
        yield Problem(key, f"it needs a url, or a preset ({', '.join(known)})")
    elif fault := url_fault(url, allow_private=table.allow_private):
        yield Problem((*key, "url"), fault)
    elif end := next((end for end in _APPENDED if url.endswith(end)), ""):  # many vendors' pages give the whole address
        yield Problem((*key, "url"), f"it is the base, to which {end} is appended: leave that off")


def _find_keys(name: str, table: BackendTable, environ: Mapping[str, str], *, look: bool) -> _Keys:
    """The keys; with `look=False` only how many there are: no file is opened, and no keyring asked."""
    named: list[tuple[Key, str]] = [(("backends", name, "key"), table.key)] if table.key else []
    named += [(("backends", name, "keys", place), text) for place, text in enumerate(table.keys)]
    if not look:
        missing = ((key, tuple(variables_without(text, environ))) for key, text in named)
        return _Keys(named=len(named), unset=tuple(Problem(key, unset_message(names)) for key, names in missing if names))
    found: list[FoundKey] = []
    problems: list[Problem] = []
    unset: list[Problem] = []
    warnings: list[str] = []
    for key, text in named:
        try:
            each = find_key(text, environ)
        except VariableUnset as error:
            unset.append(Problem(key, str(error)))
            continue
        except SettingsInvalid as error:
            problems.append(Problem(key, str(error)))
            continue
        found += [each] if each.key else []
        warnings += [f"backends.{name}: {each.warning}"] if each.warning else []
    return _Keys(
        found=tuple(each.key for each in found if each.key),
        found_in=tuple(each.where for each in found),
        named=len(named),
        problems=tuple(problems),
        unset=tuple(unset),
        warnings=tuple(warnings),
    )


def _auth(name: str, table: BackendTable, vendor: Preset | None, keys: _Keys, dialect: str) -> Auth | Problem:
    """As the table says; else by what there is to send. Only Anthropic gets a client's own credential unasked."""
    auth = table.auth
    if auth is None and keys.named:
        auth = vendor.auth if vendor else _USUAL_AUTH[dialect]
    elif auth is None and vendor and vendor.keyless:
        auth = "none"
    elif auth is None and (table.realm or (vendor.realm if vendor else "")) == ANTHROPIC:
        auth = "passthrough"
    key: Key = ("backends", name)
    if auth is None or (auth in KEYED and not keys.named):
        return Problem(key, 'it needs a key ("${VARIABLE}", "file:/path", "keyring:service/name"), or another auth')
    if auth in ("passthrough", "none") and keys.named:
        return Problem((*key, "auth"), f"{auth} shows no key, but one is given: remove either")
    return auth


def _origins(name: str, table: BackendTable, preset: Preset, given: NamedOptions) -> dict[Key, str]:
    where = f"preset {preset.name}"
    fields = ["dialect", "url", "realm", "auth", *(["models", "model"] if not table.model else [])]
    fields += ["path"] if preset.path else []
    filled: dict[Key, str] = {("backends", name, field): where for field in fields}
    manner = _manner_of(preset)
    return filled | {
        ("backends", name, part, field): where for part, field in unusual_options(manner) if field not in given.whole[part]
    }


def _manner_of(preset: Preset) -> Manner:
    return Manner(quirks=preset.quirks, wire=preset.wire, speech=preset.speech, responses=preset.responses)


def _manners(table: BackendTable, given: NamedOptions, realm: str, known: Preset | None) -> tuple[Manner, dict[str, Manner]]:
    """The manner of the backend as a whole, and by model. `known` is the vendor's preset in the backend's dialect."""
    whole, vendor = Manner(), dict[str, Manner]()
    if known is not None:
        quirks = known.quirks if known.realm != ANTHROPIC else Quirks()
        whole, vendor = structs.replace(_manner_of(known), quirks=quirks), dict(known.by_model)
    if realm == ANTHROPIC:  # this realm brings the quirks of its own preset, whatever the host
        whole = structs.replace(whole, quirks=presets()[ANTHROPIC].quirks)
    whole = _merged(whole, table, given.whole)
    rows = {pattern: _merged(each, table, given.whole) for pattern, each in vendor.items()}
    own: dict[str, Manner] = {}
    for pattern, rule in table.by_model.items():
        small = pattern.lower()  # as names are compared
        own[small] = _merged(rows.get(small, whole), rule, given.by_model[pattern])
    return whole, {**own, **{pattern: each for pattern, each in rows.items() if pattern not in own}}


def _merged(manner: Manner, table: BackendTable | Manner, names: _Names) -> Manner:
    """The manner, with the options that the table names in place of its own."""
    parts: dict[str, Any] = {}
    for part in OPTION_TABLES:
        own = {each: getattr(getattr(table, part), each) for each in names[part]}
        parts[part] = structs.replace(getattr(manner, part), **own)
    return Manner(**parts)


def _option_problems(name: str, table: BackendTable, given: NamedOptions, dialect: str) -> Iterator[Problem]:
    """Options that mean nothing in this dialect, and words that no table has."""
    key: Key = ("backends", name)
    if table.path and not table.path.startswith("/"):
        yield Problem((*key, "path"), "it begins with /")
    if table.path and dialect == ANTHROPIC:
        yield Problem((*key, "path"), _OTHER_DIALECT.format("openai-chat", dialect))
    yield from _manner_problems(key, table, given.whole, dialect)
    for pattern, rule in table.by_model.items():
        yield from _manner_problems((*key, "by_model", pattern), rule, given.by_model[pattern], dialect)


def _manner_problems(key: Key, table: BackendTable | Manner, names: _Names, dialect: str) -> Iterator[Problem]:
    yield from _foreign_tables(key, names, dialect)
    wire, responses = table.wire, table.responses
    for part in ("wire", "responses"):
        if "missing" in names[part]:
            yield Problem((*key, part, "missing"), "say it as quirks.missing")
    if len(wire.between) not in (0, 2):
        yield Problem((*key, "wire", "between"), f"expected two tags, got {len(wire.between)}")
    for part, options, counts in (("wire", wire, _CHAT_COUNTS), ("responses", responses, _RESPONSES_COUNTS)):
        for name in counts:
            if getattr(options, name) < 0:
                yield Problem((*key, part, name), f"expected 0 or more, got {getattr(options, name)}")
    families = (BY_MODEL, NEVER, *text_call_families())
    for part, name, value, rows in (
        ("wire", "knob", wire.knob, knobs()),
        ("wire", "validator", wire.validator, validators()),
        ("responses", "knob", responses.knob, knobs()),
        ("responses", "validator", responses.validator, validators()),
        ("speech", "text_calls", table.speech.text_calls, families),
    ):
        if value and value not in rows:
            known = f"there is no such {name}{nearest(value, rows)} (known: {', '.join(rows)})"
            yield Problem((*key, part, name), known)


def _foreign_tables(key: Key, names: _Names, dialect: str) -> Iterator[Problem]:
    """Tables of another dialect than the backend speaks. A preset may have begun to speak another one than it did."""
    for part, other in _TABLES_OF.items():
        if names[part] and other != dialect:
            advice = _ADVICE.format(other) if dialect != ANTHROPIC else ""
            yield Problem((*key, part), _OTHER_DIALECT.format(other, dialect) + advice)


def unusual_options(manner: Manner) -> Iterator[tuple[str, str]]:
    """The tables and keys in which a manner differs from the defaults."""
    usual = Manner()
    for part in OPTION_TABLES:
        default = getattr(usual, part)
        for name, value in structs.asdict(getattr(manner, part)).items():
            if value != getattr(default, name):
                yield part, name
