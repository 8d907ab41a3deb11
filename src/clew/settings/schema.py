"""The JSON Schema of `clew.toml`, and the meaning of its keys, both read from the types that the loader checks against.

An editor that knows the schema completes keys and shows what they mean. The meaning of a key is the text below the field, as
it stands in the source, so that there is one place to write it.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, cast

import msgspec
from msgspec import NODEFAULT, Struct, structs

from clew.backends.presets import presets
from clew.model.facts import ModelFacts
from clew.model.json import JsonObject, JsonValue
from clew.settings.document import Document
from clew.settings.shape import fields_of, table_in

__all__ = ["SCHEMA_URI", "defaults_of", "json_schema", "meanings_of", "tables_of"]

SCHEMA_URI: Final = "https://json-schema.org/draft/2020-12/schema"
_NOT_COLUMNS: Final = ("id", "known")


def json_schema() -> JsonObject:
    """The schema of the whole file."""
    kinds = tables_of(Document)
    _, parts = msgspec.json.schema_components(kinds, schema_hook=_anything, ref_template="#/$defs/{name}")
    definitions = {name: _explained(cast("JsonObject", part), kinds) for name, part in parts.items()}
    definitions["Model"] = _model()
    root = definitions.pop("Document")
    root["properties"] = {**_inner(root, "properties"), "models": _models()}
    _choose_presets(definitions)
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


def defaults_of(kind: type) -> dict[str, object]:
    """What each key is if the file does not say."""
    if issubclass(kind, Struct):
        return {field.name: _default(field) for field in structs.fields(kind)}
    return {field.name: field.default for field in dataclasses.fields(cast("Any", kind))}


def _default(field: structs.FieldInfo) -> object:
    return field.default if field.default_factory is NODEFAULT else field.default_factory()


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _explained(schema: JsonObject, kinds: tuple[type, ...]) -> JsonObject:
    """With what each key means; a table says its own name, an unknown key is refused."""
    kind = next((each for each in kinds if each.__name__ == schema.get("title")), None)
    if kind is None:
        return schema
    meanings = meanings_of(kind)
    properties: JsonObject = {}
    for name, each in _inner(schema, "properties").items():
        properties[name] = {**cast("JsonObject", each), "description": meanings[name]} if name in meanings else each
    return {**schema, "properties": properties, "additionalProperties": False}


def _anything(kind: type) -> dict[str, Any]:
    """A value that is checked elsewhere."""
    return {"title": "value"}


def _model() -> JsonObject:
    """A row about a model: any column may be left out."""
    _, parts = msgspec.json.schema_components([ModelFacts])
    columns: dict[str, JsonValue] = {"as": {"type": "string", "description": "What every column that is left out is like."}}
    for name, each in _inner(cast("JsonObject", parts["ModelFacts"]), "properties").items():
        if name not in _NOT_COLUMNS:
            columns[name] = each
    return {"type": "object", "title": "Model", "properties": columns, "additionalProperties": False}


def _models() -> JsonObject:
    said = meanings_of(Document)["models"]
    return {"type": "object", "description": said, "additionalProperties": {"$ref": "#/$defs/Model"}}


def _choose_presets(definitions: dict[str, JsonObject]) -> None:
    properties = _inner(definitions["BackendTable"], "properties")
    properties["preset"] = {**cast("JsonObject", properties["preset"]), "enum": ["", *presets()]}


def _inner(schema: JsonObject, key: str) -> dict[str, JsonValue]:
    return cast("dict[str, JsonValue]", schema[key])
