"""The settings as lines: every key that a file could say, its value, and where that came from.

Keys are shown by their fingerprint.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

import msgspec
from msgspec import Struct, structs

from clew.backends.row import Backend, Secret
from clew.model.json import JsonValue
from clew.settings.lines import Key, spelled
from clew.settings.load import Loaded

__all__ = ["Entry", "entries_of", "toml_value"]

_DEFAULT: Final = "default"
_ALWAYS: Final = ("url", "realm", "auth", "keys", "model", "models")
"""Of a backend; the rest of it is shown where it is not as usual."""
_NEVER: Final = ("name", "by_model", "keys_from")
"""Of a backend: its name stands in the key, and rules for some models are long (`clew backends --json` has them)."""


class Entry(Struct, frozen=True):
    """One key with its value."""

    key: str
    value: JsonValue
    origin: str


def entries_of(loaded: Loaded) -> list[Entry]:
    """All keys but rows about models, of which only those that are not ours are shown."""
    settings = {field.name: getattr(loaded.settings, field.name) for field in structs.fields(type(loaded.settings))}
    backends = cast("Mapping[str, Backend]", settings.pop("backends"))
    settings.pop("models")
    settings.pop("disabled")  # no key of the file; the warnings tell
    rows = [*_flat(settings, ()), *(entry for row in backends.values() for entry in _backend(row))]
    shown = [Entry(spelled(key), value, _origin(key, loaded.origins)) for key, value in rows]
    return shown + [Entry(key, "…", where) for key, where in loaded.origins.items() if _is_model(key)]


def toml_value(value: JsonValue) -> str:
    """As the file would say it."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{spelled((name,))} = {toml_value(each)}" for name, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    return '""' if value is None else msgspec.json.encode(value).decode()


def _flat(value: object, key: Key) -> Iterator[tuple[Key, JsonValue]]:
    """Tables become their keys; None, which a file cannot say, is left out."""
    for name, each in _parts(value).items():
        yield from _flat(each, (*key, name))
    if not _parts(value) and value is not None:
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


def _backend(row: Backend) -> Iterator[tuple[Key, JsonValue]]:
    usual = Backend(name="", url="", realm="")
    for name, value in structs.asdict(row).items():
        key: Key = ("backends", row.name, name)
        if name in _ALWAYS and value:
            yield key, _plain(value)
        elif name not in _NEVER and name not in _ALWAYS and value != getattr(usual, name):
            yield from (each for each in _flat(value, key) if _unusual(each, usual))


def _unusual(entry: tuple[Key, JsonValue], usual: Backend) -> bool:
    """Of quirks and timeouts only what deviates."""
    (_, _, table, *rest), value = entry
    return not rest or _plain(getattr(getattr(usual, str(table)), str(rest[0]))) != value


def _plain(value: object) -> JsonValue:
    if isinstance(value, frozenset):
        return [*sorted(cast("frozenset[str]", value))]
    return msgspec.to_builtins(value, enc_hook=_hidden)


def _hidden(value: Any) -> str:
    """A key, by what it is known as."""
    return f"<secret {value.fingerprint}>" if isinstance(value, Secret) else str(value)


def _origin(key: Key, origins: Mapping[str, str]) -> str:
    """Of the key, else of what holds it and says so for all of it: an inline table, a variable that makes a backend."""
    if key[2:] == ("keys",):
        return (
            origins.get(spelled((*key[:2], "key"))) or origins.get(spelled(key)) or origins.get(spelled(key[:2]), _DEFAULT)
        )
    exact = origins.get(spelled(key))
    inline = origins.get(spelled(key[:-1]), "") if len(key) > 3 else ""
    return exact or inline or _DEFAULT


def _is_model(key: str) -> bool:
    return key.startswith("models.")
