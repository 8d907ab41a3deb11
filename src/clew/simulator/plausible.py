"""A plausible value for a JSON schema: small, valid as far as the schema shows, and the same each time.

The schema's own values come first (const, enum, default, examples). Else the property's name gives a hint, so that a tool
that really runs does something harmless: a path is one that the prompt names, a command lists the directory.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from clew.model.json import JsonObject, JsonValue
from clew.simulator.values import as_dict, as_list

_DEPTH: Final = 12
_PATH = re.compile(r"(?:~|\.{1,2})?/[\w./-]+|\b[\w-]+\.[A-Za-z]{1,5}\b")
_URL = re.compile(r"https?://[^\s\"'<>)\]]+")
_SAFE: Final = {
    "command": "echo hello",
    "cmd": "echo hello",
    "pattern": "*",
    "query": "hello",
    "url": "https://example.com/",
    "path": ".",
    "directory": ".",
    "date": "2026-01-01",
    "description": "A first look",
    "language": "en",
}
_FORMATS: Final = {
    "date-time": "2026-01-01T00:00:00Z",
    "date": "2026-01-01",
    "time": "00:00:00Z",
    "email": "someone@example.com",
    "uri": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "ipv4": "127.0.0.1",
    "hostname": "example.com",
}


@dataclass(frozen=True, slots=True)
class _SchemaPlace:
    """A position in a JSON schema while a value for it is made."""

    root: JsonObject
    prompt: str
    name: str = ""
    depth: int = 0

    def inside(self, name: str) -> _SchemaPlace:
        return replace(self, name=name, depth=self.depth + 1)


def value_for(schema: JsonObject, prompt: str = "") -> JsonValue:
    """A value that fits the schema. `prompt` may have paths and URLs to use."""
    return _value(schema, _SchemaPlace(root=schema, prompt=prompt))


def _value(schema: JsonValue, place: _SchemaPlace) -> JsonValue:
    if not isinstance(schema, dict) or place.depth > _DEPTH:
        return None
    if (offered := _offered(schema)) is not None:
        return offered
    if isinstance(reference := schema.get("$ref"), str):
        found: JsonValue = place.root
        for part in reference.removeprefix("#").strip("/").split("/"):
            found = as_dict(found).get(part)
        return _value(found, place.inside(place.name))
    for key in ("anyOf", "oneOf"):
        if isinstance(options := schema.get(key), list) and options:
            return _value(options[0], place.inside(place.name))
    if isinstance(parts := schema.get("allOf"), list) and parts:
        return _value(_merged(schema, parts), place.inside(place.name))
    return _typed(schema, place)


def _offered(schema: JsonObject) -> JsonValue:
    if "const" in schema:
        return schema["const"]
    for key in ("enum", "examples"):
        if isinstance(values := schema.get(key), list) and values:
            return values[0]
    return schema.get("default")


def _typed(schema: JsonObject, place: _SchemaPlace) -> JsonValue:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((str(each) for each in kind if each != "null"), "null")
    elif not isinstance(kind, str):
        kind = "object" if "properties" in schema else "string"
    match kind:
        case "object":
            properties = schema.get("properties")
            required = as_list(schema.get("required")) if isinstance(properties, dict) else []
            names = [name for name in required if isinstance(name, str)]
            return {name: _value(as_dict(properties).get(name, {}), place.inside(name)) for name in names}
        case "array":
            least = schema.get("minItems")
            count = least if isinstance(least, int) else 0
            return [_value(schema.get("items", {}), place.inside(place.name)) for _ in range(count)]
        case "string":
            form = schema.get("format")
            text = _FORMATS[form] if isinstance(form, str) and form in _FORMATS else _by_name(place)
            least, most = schema.get("minLength"), schema.get("maxLength")
            if isinstance(least, int):
                text = text.ljust(least, "x")
            return text[:most] if isinstance(most, int) else text
        case "integer" | "number":
            return _number(schema)
        case "boolean":
            return False
        case _:
            return None


def _by_name(place: _SchemaPlace) -> str:
    name = place.name.lower()
    if "url" in name and (found := _URL.search(place.prompt)):
        return found.group()
    if ("path" in name or "file" in name) and (found := _PATH.search(_URL.sub("", place.prompt))):
        return found.group()
    if "file" in name:
        return "README.md"
    return _SAFE.get(name, place.name or "something")


def _number(schema: JsonObject) -> int | float:
    low, above = schema.get("minimum"), schema.get("exclusiveMinimum")
    high = schema.get("maximum")
    value: int | float = 1
    if isinstance(low, int | float):
        value = max(value, low)
    if isinstance(above, int | float):
        value = max(value, above + 1)
    if isinstance(high, int | float):
        value = min(value, high)
    if isinstance(step := schema.get("multipleOf"), int | float) and step > 0:
        value = -(-value // step) * step
    return value


def _merged(schema: JsonObject, parts: list[JsonValue]) -> JsonObject:
    merged: JsonObject = {key: value for key, value in schema.items() if key != "allOf"}
    for part in parts:
        for key, value in part.items() if isinstance(part, dict) else ():
            known = merged.get(key)
            if isinstance(known, dict) and isinstance(value, dict):
                merged[key] = {**known, **value}
            elif isinstance(known, list) and isinstance(value, list):
                merged[key] = [*known, *value]
            else:
                merged[key] = value
    return merged
