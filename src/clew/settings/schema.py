"""The JSON Schema of `clew.toml`, the meaning of its keys, and its first content, all made from the types of the loader.

An editor that knows the schema completes keys and shows what they mean. The meaning of a key is the text below the field, as
it stands in the source, so that there is one place to write it. The first `clew.toml` has the backends that are found in the
environment, and every key with its default and its meaning, commented out.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final, cast

import msgspec
from msgspec import NODEFAULT, Struct, structs

from clew.backends.presets import Preset, presets
from clew.model.facts import ModelFacts
from clew.model.json import JsonObject, JsonValue
from clew.settings.document import Document, discover_backends
from clew.settings.entries import toml_value
from clew.settings.problems import fields_of, table_in
from clew.settings.values import RoutingRule

SCHEMA_URI: Final = "https://json-schema.org/draft/2020-12/schema"
SCHEMA_FILE: Final = "clew.schema.json"
_NOT_COLUMNS: Final = ("id", "known")
_HEAD: Final = """\
#:schema ./{schema}
#
# What clew is told. Every key is optional; what is commented out is the default.
# `clew config check` says what is wrong with this file, `clew config show --origin` what it comes to.
"""
_WIDTH: Final = 100


def json_schema() -> JsonObject:
    """The schema of the whole file."""
    kinds = tables_of(Document)
    _, parts = msgspec.json.schema_components(
        kinds, schema_hook=lambda kind: {"title": "value"}, ref_template="#/$defs/{name}"
    )
    definitions = {name: _explained(cast("JsonObject", part), kinds) for name, part in parts.items()}
    definitions["Model"] = _model_schema()
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


@cache
def meanings_of(kind: type) -> Mapping[str, str]:
    """What each key of a table means: the text below the field."""
    [definition] = ast.parse(inspect.getsource(kind)).body
    assert isinstance(definition, ast.ClassDef)
    found: dict[str, str] = {}
    for field, text in zip(definition.body, definition.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and _is_text(text):
            found[field.target.id] = inspect.cleandoc(cast("Any", text).value.value)
    return found


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


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


def _model_schema() -> JsonObject:
    """A row about a model: any column may be left out."""
    _, parts = msgspec.json.schema_components([ModelFacts])
    columns: dict[str, JsonValue] = {"as": {"type": "string", "description": "What every column that is left out is like."}}
    for name, each in _table(cast("JsonObject", parts["ModelFacts"]), "properties").items():
        if name not in _NOT_COLUMNS:
            columns[name] = each
    return {"type": "object", "title": "Model", "properties": columns, "additionalProperties": False}


def _table(schema: JsonObject, key: str) -> dict[str, JsonValue]:
    return cast("dict[str, JsonValue]", schema[key])


def template(environ: Mapping[str, str]) -> str:
    """The first `clew.toml`: it says what would be found without it."""
    parts = [*_top_lines(), *_backend_lines(environ), *_rule_lines(), *_table_lines()]
    return "\n".join([_HEAD.format(schema=SCHEMA_FILE), *parts])


def _top_lines() -> Iterator[str]:
    yield 'active = "claude"'
    for name, kind in fields_of(Document).items():
        if name != "active" and table_in(kind) is None and name != "models":
            yield _commented(name, defaults_of(Document)[name], meanings_of(Document).get(name, ""))
    yield ""


def _backend_lines(environ: Mapping[str, str]) -> Iterator[str]:
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
            yield from (f"# {line}" for line in _preset_lines(preset))
            yield ""


def _preset_lines(preset: Preset) -> Iterator[str]:
    """The keys that a backend with this preset needs."""
    yield f"[backends.{preset.backend}]"
    yield f'preset = "{preset.name}"'
    if not preset.url:
        yield 'url = "https://…"'
    if not preset.keyless:
        yield f'key = "${{{preset.variables[0].name}}}"'
    if preset.dialect != "anthropic" and not preset.model:
        yield 'model = "…"'


def _rule_lines() -> Iterator[str]:
    yield from _wrapped(meanings_of(Document)["rules"])
    yield from ("# [[rules]]", '# family = "haiku"', '# backend = "claude"')
    for name, says in meanings_of(RoutingRule).items():
        yield from _wrapped(f"{name}: {says}", indent="#   ")
    yield ""


def _table_lines() -> Iterator[str]:
    """The tables that are settings themselves."""
    for name, kind in fields_of(Document).items():
        inner = table_in(kind)
        if inner is not None and name not in ("backends", "rules"):
            yield from _wrapped((inner.__doc__ or "").split("\n")[0])
            yield f"[{name}]"
            for key, default in defaults_of(inner).items():
                yield _commented(key, default, meanings_of(inner).get(key, ""))
            yield ""


def _commented(name: str, default: object, says: str) -> str:
    """A key with its meaning on one line, and with its default where a file can say that."""
    value, meaning = "", " ".join(says.split())
    if default is not None and default is not NODEFAULT and not isinstance(default, Struct):
        value = "" if dataclasses.is_dataclass(default) else toml_value(msgspec.to_builtins(default))
    return f"# {name}{f' = {value}' if value else ': off'}{f'  # {meaning}' if meaning else ''}"


def _wrapped(text: str, indent: str = "# ") -> Iterator[str]:
    line = indent
    for word in text.split():
        if len(line) + len(word) > _WIDTH:
            yield line.rstrip()
            line = indent
        line += f"{word} "
    yield line.rstrip()
