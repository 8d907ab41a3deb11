"""The settings in text: the JSON Schema of `clew.toml`, its first content, and the settings of a start as entries.

All are made from the types of the loader. The meaning of a key is the text below the field, as it stands in the source, so
that there is one place to write it. The first `clew.toml` has the backends that are found in the environment, and every key
with its default and its meaning, commented out. An entry is a key that a file could name, its value, and where that came
from. Secrets are shown by their fingerprint.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final, cast

import msgspec
from msgspec import NODEFAULT, Struct, structs

from clew.backends.credential import Secret
from clew.backends.presets import presets
from clew.backends.row import Backend
from clew.model.facts import ModelFacts
from clew.model.json import JsonObject, JsonValue
from clew.settings.document import Document, discover_backends
from clew.settings.load import Loaded
from clew.settings.problems import Key, fields_of, format_key, table_in
from clew.settings.values import RoutingRule
from clew.store.kinds import shown_url

SCHEMA_URI: Final = "https://json-schema.org/draft/2020-12/schema"
SCHEMA_FILE: Final = "clew.schema.json"
_NOT_COLUMNS: Final = ("id", "known")
_HEAD: Final = """\
#:schema ./{schema}
#
# The settings of clew. Every key is optional. A line that begins with `#` and a key shows the default.
# `clew config check` finds mistakes in this file. `clew config show --origin` prints every setting and where it comes from.
"""
_WIDTH: Final = 100


def json_schema() -> JsonObject:
    """The schema of the whole file."""
    kinds = tables_of(Document)
    _, parts = msgspec.json.schema_components(
        kinds, schema_hook=lambda kind: {"title": "value"}, ref_template="#/$defs/{name}"
    )
    definitions = {name: _explained(cast("JsonObject", part), kinds) for name, part in parts.items()}
    _, facts = msgspec.json.schema_components([ModelFacts])
    known = _table(cast("JsonObject", facts["ModelFacts"]), "properties")
    columns: JsonObject = {"as": {"type": "string", "description": "What every column that is left out is like."}}
    columns |= {name: each for name, each in known.items() if name not in _NOT_COLUMNS}
    definitions["Model"] = {"type": "object", "title": "Model", "properties": columns, "additionalProperties": False}
    root = definitions.pop("Document")
    models: JsonObject = {
        "type": "object",
        "description": meanings_of(Document)["models"],
        "additionalProperties": {"$ref": "#/$defs/Model"},
    }
    root["properties"] = {**_table(root, "properties"), "models": models}
    backend = _table(definitions["BackendTable"], "properties")
    backend["preset"] = {**cast("JsonObject", backend["preset"]), "enum": ["", *presets()]}
    return {"$schema": SCHEMA_URI, **root, "title": "clew.toml", "$defs": dict(definitions)}


@cache
def tables_of(kind: type) -> tuple[type, ...]:
    """The types of the tables below a table, each once, in the order in which they come."""
    found: dict[type, None] = {kind: None}
    for field in fields_of(kind).values():
        inner = table_in(field)
        found |= dict.fromkeys(tables_of(inner)) if inner else {}
    return tuple(found)


def summary_of(kind: type) -> str:
    """What a table is for: the first paragraph of its text, in one line."""
    return " ".join((kind.__doc__ or "").partition("\n\n")[0].split())


@cache
def meanings_of(kind: type) -> Mapping[str, str]:
    """What each key of a table means: the text below the field."""
    [definition] = ast.parse(inspect.getsource(kind)).body
    assert isinstance(definition, ast.ClassDef)
    found: dict[str, str] = {}
    for field, text in zip(definition.body, definition.body[1:], strict=False):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(meaning))):
                found[name] = inspect.cleandoc(meaning)
            case _:
                pass
    return found


def defaults_of(kind: type) -> dict[str, object]:
    """What each key is if the file does not say."""
    if not issubclass(kind, Struct):
        return {field.name: field.default for field in dataclasses.fields(cast("Any", kind))}
    return {
        field.name: field.default if field.default_factory is NODEFAULT else field.default_factory()
        for field in structs.fields(kind)
    }


def _explained(schema: JsonObject, kinds: tuple[type, ...]) -> JsonObject:
    """The schema of a table with the meaning of each key; unknown keys are refused."""
    kind = next((each for each in kinds if each.__name__ == schema.get("title")), None)
    if kind is None:
        return schema
    meanings = meanings_of(kind)
    properties: JsonObject = {}
    for name, each in _table(schema, "properties").items():
        properties[name] = {**cast("JsonObject", each), "description": meanings[name]} if name in meanings else each
    return {**schema, "properties": properties, "additionalProperties": False}


def _table(schema: JsonObject, key: str) -> dict[str, JsonValue]:
    return cast("dict[str, JsonValue]", schema[key])


def template(environ: Mapping[str, str]) -> str:
    """The first `clew.toml`: it says what would be found without it."""
    tables = {name: table_in(kind) for name, kind in fields_of(Document).items()}
    plain = [name for name, table in tables.items() if table is None and name not in ("active", "models")]
    lines = [_HEAD.format(schema=SCHEMA_FILE), 'active = "claude"', *_key_lines(Document, plain), ""]
    lines += [*_backend_lines(environ), *_wrapped(meanings_of(Document)["rules"])]
    lines += ["# [[rules]]", '# family = "haiku"', '# backend = "claude"']
    for name, says in meanings_of(RoutingRule).items():
        lines += _wrapped(f"{name}: {says}", indent="#   ")
    lines.append("")
    for name, table in tables.items():
        if table is not None and name not in ("backends", "rules"):
            lines += [*_wrapped(summary_of(table)), f"[{name}]", *_key_lines(table, defaults_of(table)), ""]
    return "\n".join(lines)


def _backend_lines(environ: Mapping[str, str]) -> Iterator[str]:
    """The backends that the environment gives, and, commented out, one for each other preset with the keys it needs."""
    found = discover_backends(environ).tables
    for name, table in found.items():
        yield f"[backends.{name}]"
        for field in ("preset", "url", "auth", "key"):
            if value := getattr(table, field):
                yield f"{field} = {toml_value(value)}"
        yield ""
    used = {table.preset for table in found.values()}
    for preset in presets().values():
        if preset.name not in used and (preset.variables or preset.keyless):
            yield f"# [backends.{preset.backend}]"
            yield f'# preset = "{preset.name}"'
            if not preset.url:
                yield '# url = "https://…"'
            if not preset.keyless:
                yield f'# key = "${{{preset.variables[0].name}}}"'
            if preset.dialect != "anthropic" and not preset.model:
                yield '# model = "…"'
            yield ""


def _key_lines(table: type, names: Iterable[str]) -> Iterator[str]:
    """Each key, commented out, with its default where a file can say that; below it, what it means."""
    defaults, meanings = defaults_of(table), meanings_of(table)
    for name in names:
        default, value = defaults[name], ""
        if default is not None and default is not NODEFAULT and not isinstance(default, Struct):
            value = "" if dataclasses.is_dataclass(default) else toml_value(msgspec.to_builtins(default))
        yield f"# {name} = {value}" if value else f"# {name} (not set)"
        if meaning := meanings.get(name):
            yield from _wrapped(meaning, indent="#   ")


def _wrapped(text: str, indent: str = "# ") -> Iterator[str]:
    line = indent
    for word in text.split():
        if len(line) + len(word) > _WIDTH:
            yield line.rstrip()
            line = indent
        line += f"{word} "
    yield line.rstrip()


_ALWAYS: Final = ("url", "realm", "auth", "keys", "model", "models")
"""Of a backend; its other keys are shown where they differ from the default."""
_NEVER: Final = ("name", "by_model", "keys_from")
"""Of a backend: its name stands in the key, and rules for some models are long (`clew backends --json` has them)."""


class SettingsEntry(Struct, frozen=True):
    """A key of the settings with its value and its origin."""

    key: str
    value: JsonValue
    origin: str


def entries_of(loaded: Loaded) -> list[SettingsEntry]:
    """All keys of the settings. Of the facts about models, only those that the file adds."""
    settings = {field.name: getattr(loaded.settings, field.name) for field in structs.fields(type(loaded.settings))}
    backends = cast("Mapping[str, Backend]", settings.pop("backends"))
    settings.pop("models")
    settings.pop("disabled")  # no key of the file; the warnings name them
    rows = [*_flat(settings, ()), *(entry for row in backends.values() for entry in _backend_entries(row))]
    entries: list[SettingsEntry] = []
    for key, value in rows:
        if key == ("store", "url"):
            value = shown_url(str(value))
        holders = [key]  # a key has the origin of what holds it and gives all of it: an inline table, a variable
        if key[2:] == ("keys",):
            holders = [(*key[:2], "key"), key, key[:2]]
        elif len(key) > 3:
            holders.append(key[:-1])
        origins = (loaded.origins.get(format_key(each)) for each in holders)
        entries.append(SettingsEntry(format_key(key), value, next(filter(None, origins), "default")))
    return entries + [SettingsEntry(key, "…", where) for key, where in loaded.origins.items() if key.startswith("models.")]


def toml_value(value: JsonValue) -> str:
    """A value as TOML."""
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

    def shown(other: Any) -> str:
        return f"<secret {other.fingerprint}>" if isinstance(other, Secret) else str(other)

    return msgspec.to_builtins(value, enc_hook=shown)
