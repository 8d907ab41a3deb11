"""The settings as entries: every key that a file could name, its value, and where that came from.

Secrets are shown by their fingerprint.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

import msgspec
from msgspec import Struct, structs

from clew.backends.row import Backend, Secret
from clew.model.json import JsonValue
from clew.settings.load import Loaded
from clew.settings.problems import Key, format_key

_DEFAULT: Final = "default"
_ALWAYS: Final = ("url", "realm", "auth", "keys", "model", "models")
"""Of a backend; its other keys are shown where they differ from the default."""
_NEVER: Final = ("name", "by_model", "keys_from")
"""Of a backend: its name stands in the key, and rules for some models are long (`clew backends --json` has them)."""


class SettingsEntry(Struct, frozen=True):
    """One key with its value."""

    key: str
    value: JsonValue
    origin: str


def entries_of(loaded: Loaded) -> list[SettingsEntry]:
    """All keys. Of the facts about models, only those that are not clew's own."""
    settings = {field.name: getattr(loaded.settings, field.name) for field in structs.fields(type(loaded.settings))}
    backends = cast("Mapping[str, Backend]", settings.pop("backends"))
    settings.pop("models")
    settings.pop("disabled")  # no key of the file; the warnings name them
    rows = [*_flat(settings, ()), *(entry for row in backends.values() for entry in _backend_entries(row))]
    entries = [SettingsEntry(format_key(key), value, _origin(key, loaded.origins)) for key, value in rows]
    models = [(key, where) for key, where in loaded.origins.items() if key.startswith("models.")]
    return entries + [SettingsEntry(key, "…", where) for key, where in models]


def toml_value(value: JsonValue) -> str:
    """As the file would say it."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{format_key((name,))} = {toml_value(each)}" for name, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    return '""' if value is None else msgspec.json.encode(value).decode()


def _flat(value: object, key: Key) -> Iterator[tuple[Key, JsonValue]]:
    """The keys below a table; None, which a file cannot say, is left out."""
    parts = _parts(value)
    for name, each in parts.items():
        yield from _flat(each, (*key, name))
    if not parts and value is not None:
        yield key, _plain(value)


def _parts(value: Any) -> Mapping[str | int, object]:
    """What a table or a list of tables holds; nothing for any other value."""
    if isinstance(value, Mapping):
        return cast("Mapping[str | int, object]", value)
    if isinstance(value, Struct):
        return {**structs.asdict(value)}
    if dataclasses.is_dataclass(value):
        return {**dataclasses.asdict(cast("Any", value))}
    if isinstance(value, tuple) and any(isinstance(each, Struct) for each in cast("tuple[object, ...]", value)):
        return {**dict(enumerate(cast("tuple[object, ...]", value)))}
    return {}


def _backend_entries(row: Backend) -> Iterator[tuple[Key, JsonValue]]:
    usual = Backend(name="", url="", realm="")
    for name, value in structs.asdict(row).items():
        if name in _ALWAYS and value:
            yield ("backends", row.name, name), _plain(value)
        elif name not in _NEVER and name not in _ALWAYS and value != getattr(usual, name):
            for key, each in _flat(value, ("backends", row.name, name)):
                # Of quirks and timeouts only what differs.
                if len(key) == 3 or _plain(getattr(getattr(usual, name), str(key[3]))) != each:
                    yield key, each


def _plain(value: object) -> JsonValue:
    if isinstance(value, frozenset):
        return [*sorted(cast("frozenset[str]", value))]
    return msgspec.to_builtins(value, enc_hook=_hidden)


def _hidden(value: Any) -> str:
    return f"<secret {value.fingerprint}>" if isinstance(value, Secret) else str(value)


def _origin(key: Key, origins: Mapping[str, str]) -> str:
    """Of the key, else of what holds it and gives all of it: an inline table, a variable that makes a backend."""
    holders = [key]
    if key[2:] == ("keys",):
        holders = [(*key[:2], "key"), key, key[:2]]
    elif len(key) > 3:
        holders.append(key[:-1])
    return next((where for each in holders if (where := origins.get(format_key(each)))), _DEFAULT)
