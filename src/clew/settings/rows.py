"""From a backend's table to its row: the preset filled in, the URL checked, the keys looked up.

What cannot be used is a `Problem` with its key; the others are still looked at, so that a person sees all at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from msgspec import Struct

from clew.backends.address import is_local, url_fault
from clew.backends.manner import DIALECTS, Manner
from clew.backends.presets import Preset, preset_of_host, presets
from clew.backends.row import Auth, Backend, Secret
from clew.errors import SettingsInvalid
from clew.model.origin import ANTHROPIC
from clew.settings.document import BackendTable
from clew.settings.lines import Key, spelled
from clew.settings.manners import Given, manner_faults, manners, unusual
from clew.settings.shape import Problem, nearest
from clew.settings.sources import Found, VariableUnset, find_key, unset_in, variables_without

__all__ = ["Made", "backend_of"]

KEYED: Final[tuple[Auth, ...]] = ("key", "bearer", "api-key")
_USUAL_AUTH: Final[Mapping[str, Auth]] = {"anthropic": "key", "openai-chat": "bearer"}
"""How a key is shown to a vendor that nobody knows."""
_APPENDED: Final = ("/chat/completions", "/v1/messages")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Made(Struct, frozen=True, kw_only=True):
    """A row, or why there is none. `origins` are the fields that the table left open and something else filled."""

    backend: Backend | None = None
    problems: tuple[Problem, ...] = ()
    unset: tuple[Problem, ...] = ()
    """Why the backend is disabled: variables for all of its keys are not set."""
    warnings: tuple[str, ...] = ()
    origins: dict[Key, str] = {}


class _Endpoint(NamedTuple):
    """Where a backend is, and who it is known as. `vendor` is also known by the host alone."""

    dialect: str
    url: str
    auth: Auth
    keys: tuple[Secret, ...]
    keys_from: tuple[str, ...]
    preset: Preset | None
    vendor: Preset | None


class _Keys(Struct, frozen=True, kw_only=True):
    found: tuple[Secret, ...] = ()
    found_in: tuple[str, ...] = ()
    named: int = 0
    problems: tuple[Problem, ...] = ()
    unset: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()


def backend_of(name: str, table: BackendTable, given: Given, environ: Mapping[str, str], *, keys: bool = True) -> Made:
    """The row of a table. `given` are the keys of its manner that it names; with `keys=False` no key is looked up."""
    named = presets().get(table.preset)
    dialect = table.dialect or (named.dialect if named else DIALECTS[0])
    preset = named.speaking(dialect) if named else None
    url = (table.url or (preset.url if preset else "")).rstrip("/")
    problems = (*_faults(name, table, preset, url), *manner_faults(("backends", name), table, given, dialect))
    if problems:
        return Made(problems=problems)
    shown = _keys(name, table, environ) if keys else _named_keys(name, table, environ)
    vendor = preset or preset_of_host(url)
    auth = _auth(table, vendor, shown, dialect)
    problems = shown.problems or tuple(_auth_faults(name, auth, shown))
    if problems or auth is None:
        return Made(problems=problems)
    if keys and shown.unset and not shown.found:
        return Made(unset=shown.unset)
    if keys and shown.named and not shown.found:
        return Made(warnings=(f"backends.{name}: left out, since its key is empty",))
    row = _row(name, table, _Endpoint(dialect, url, auth, shown.found, shown.found_in, preset, vendor), given)
    unset = shown.unset if len(shown.unset) == shown.named else ()
    spare = (f"{spelled(each.key)}: {each.says}" for each in shown.unset if not unset)
    warnings = (*shown.warnings, *spare, *_exposed(row))
    return Made(backend=row, unset=unset, warnings=warnings, origins=_origins(name, table, preset, given))


def _faults(name: str, table: BackendTable, preset: Preset | None, url: str) -> Iterator[Problem]:
    key: Key = ("backends", name)
    if not _NAME.fullmatch(name):
        yield Problem(key, "a name has letters, digits, dots and dashes, at most 64")
    if table.preset and preset is None:
        yield _no_preset(table, key)
    elif not url and preset:
        yield Problem(key, f"it needs a url: that of {preset.title} is another for each customer")
    elif not url:
        yield Problem(key, f"it needs a url, or a preset ({', '.join(presets())})")
    elif fault := url_fault(url, allow_private=table.allow_private) or _too_long(url):
        yield Problem((*key, "url"), fault)


def _too_long(url: str) -> str:
    """Many vendors' pages give the address of the call where a base is wanted."""
    end = next((end for end in _APPENDED if url.endswith(end)), "")
    return f"it is the base, to which {end} is appended: leave that off" if end else ""


def _no_preset(table: BackendTable, key: Key) -> Problem:
    named, known = presets().get(table.preset), presets()
    if named is None:
        return Problem(
            (*key, "preset"), f"there is no such preset{nearest(table.preset, known)} (known: {', '.join(known)})"
        )
    spoken = ", ".join((named.dialect, *named.others))
    return Problem((*key, "dialect"), f"nothing is known of such an endpoint of {named.title}: it speaks {spoken}")


def _key_texts(name: str, table: BackendTable) -> list[tuple[Key, str]]:
    named: list[tuple[Key, str]] = [(("backends", name, "key"), table.key)] if table.key else []
    return named + [(("backends", name, "keys", place), text) for place, text in enumerate(table.keys)]


def _named_keys(name: str, table: BackendTable, environ: Mapping[str, str]) -> _Keys:
    """Without looking any up: no file is opened, and no keyring asked."""
    named = _key_texts(name, table)
    missing = ((key, tuple(variables_without(text, environ))) for key, text in named)
    return _Keys(named=len(named), unset=tuple(Problem(key, unset_in(names)) for key, names in missing if names))


def _keys(name: str, table: BackendTable, environ: Mapping[str, str]) -> _Keys:
    named = _key_texts(name, table)
    found: list[Found] = []
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


def _auth(table: BackendTable, vendor: Preset | None, keys: _Keys, dialect: str) -> Auth | None:
    """As the table says; else by what there is to show. Only Anthropic gets a client's own credential unasked."""
    if table.auth:
        return table.auth
    if keys.named:
        return vendor.auth if vendor else _USUAL_AUTH[dialect]
    if vendor and vendor.keyless:
        return "none"
    realm = table.realm or (vendor.realm if vendor else "")
    return "passthrough" if realm == ANTHROPIC else None


def _auth_faults(name: str, auth: Auth | None, keys: _Keys) -> Iterator[Problem]:
    key: Key = ("backends", name)
    if auth is None or (auth in KEYED and not keys.named):
        yield Problem(key, 'it needs a key ("${VARIABLE}", "file:/path", "keyring:service/name"), or another auth')
    elif auth in ("passthrough", "none") and keys.named:
        yield Problem((*key, "auth"), f"{auth} shows no key, but one is given: remove either")


def _row(name: str, table: BackendTable, at: _Endpoint, given: Given) -> Backend:
    preset = at.preset
    realm = table.realm or (at.vendor.realm if at.vendor else name)
    manner, by_model = manners(table, given, realm, at.vendor.speaking(at.dialect) if at.vendor else None)
    return Backend(
        name=name,
        dialect=at.dialect,
        url=at.url,
        path=table.path or (preset.path if preset else ""),
        realm=realm,
        auth=at.auth,
        keys=at.keys,
        keys_from=at.keys_from,
        account=table.account,
        model=table.model or (preset.model if preset else ""),
        models=_models(table, preset),
        quirks=manner.quirks,
        wire=manner.wire,
        speech=manner.speech,
        by_model=by_model,
        timeouts=table.timeouts,
        preset=table.preset,
        allow_private=table.allow_private,
    )


def _models(table: BackendTable, preset: Preset | None) -> Mapping[str, str]:
    """A `model` of the operator's is meant for all names, so it takes the preset's mapping away."""
    return table.models if preset is None or table.model else {**preset.models, **table.models}


def _exposed(row: Backend) -> Iterator[str]:
    if row.url.startswith("http:") and row.keys and not is_local(row.url):
        yield f"backends.{row.name}: its key goes over the network unencrypted: use https"


def _origins(name: str, table: BackendTable, preset: Preset | None, given: Given) -> dict[Key, str]:
    if preset is None:
        return {}
    where = f"preset {preset.name}"
    fields = ["dialect", "url", "realm", "auth", *(["models", "model"] if not table.model else [])]
    fields += ["path"] if preset.path else []
    filled: dict[Key, str] = {("backends", name, field): where for field in fields}
    manner = Manner(quirks=preset.quirks, wire=preset.wire, speech=preset.speech)
    return filled | {
        ("backends", name, part, field): where for part, field in unusual(manner) if field not in given.whole[part]
    }
