"""Schemas that a backend's own check lets pass.

JSON Schema says one thing in many ways, and the checks of some backends know only a few of them; one keyword that is unknown
fails the whole request, whatever the tool is for. So a schema is said anew in the words of the check (`validators.toml`),
and what cannot be said is left out: then the model is told less, and the client still checks what it gets. Names of
properties are never taken for keywords. A schema that passes comes back as it is, so doing it twice is doing it once.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from clew.dialects.openai_chat.request.schema_rewrites import REWRITES, merged, resolved, without
from clew.model.facts.validators import Validator
from clew.model.json import JsonObject, JsonValue
from clew.model.loose_json import object_of, objects_of

__all__ = ["Fitted", "fitted"]

_MAPS: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_ONES: Final = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
_UNIONS: Final = ("anyOf", "oneOf", "allOf", "not", "enum", "const")

_ROUNDS: Final = 5
_DEPTH: Final = 64
_MOST: Final = 2000
"""Schemas in one: references to references can make a few lines into millions."""


class Fitted(Struct, frozen=True):
    """The schema that passes, and the keywords that were removed or said otherwise, in order of appearance."""

    schema: JsonObject
    altered: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether it is an object without properties."""
        return not self.schema.get("properties")


def fitted(schema: JsonObject, check: Validator) -> Fitted:
    """The schema of a tool's input, or of an answer. What one round brings to light, the next one sees to."""
    altered: dict[str, None] = {}
    for _ in range(_ROUNDS):
        fitting = _Fitting(schema, check)
        schema = fitting.whole(schema)
        if not fitting.altered:
            break
        altered |= fitting.altered
    return Fitted(schema, tuple(altered))


class _Fitting:
    """One schema on its way through a check."""

    def __init__(self, root: JsonObject, check: Validator) -> None:
        self._root = root
        self._check = check
        self._left = _MOST
        self._depth = 0
        self.altered: dict[str, None] = {}

    def whole(self, schema: JsonObject) -> JsonObject:
        """The outermost, and all that is in it."""
        done = self.node(schema, ())
        return self._object(done) if "root" in self._check.rewrites else done

    def node(self, node: JsonObject, within: tuple[str, ...]) -> JsonObject:
        """One schema; `within` are the references that led here, so that a circle is seen."""
        self._left -= 1
        if self._depth > _DEPTH or self._left < 0:
            self._alter("$ref")
            return {"type": "object"}
        node, within = self._reworded(node, within)
        node = self._told(node, {key: each for key, each in node.items() if self._passes(key, each)})
        self._depth += 1
        done: JsonObject = {key: self._inner(key, each, within) for key, each in node.items()}
        self._depth -= 1
        return done

    def _object(self, node: JsonObject) -> JsonObject:
        """An object that is no union; it has the properties of a union's members."""
        plain: JsonObject = {**_kept(node), **without(node, *_UNIONS), "type": "object"}
        return self._told(node, plain if "empty" in self._check.rewrites else {"properties": {}, **plain})

    def _reworded(self, node: JsonObject, within: tuple[str, ...]) -> tuple[JsonObject, tuple[str, ...]]:
        """In the words of the check. A union of one may bring in a reference, so it begins again."""
        for _ in range(_DEPTH):
            node, within = self._put_together(node, within)
            for name, rewrite in REWRITES.items():
                if name in self._check.rewrites:
                    node = self._told(node, rewrite(node))
            if "$ref" not in node or "refs" not in self._check.rewrites:
                break
        return node, within

    def _put_together(self, node: JsonObject, within: tuple[str, ...]) -> tuple[JsonObject, tuple[str, ...]]:
        """With what it refers to, and with all of its parts."""
        if "$ref" in node and "refs" in self._check.rewrites:
            self._alter("$ref")
            node, within = resolved(node, self._root, within)
        parts = node.get("allOf")
        if not isinstance(parts, list) or "all_of" not in self._check.rewrites:
            return node, within
        self._alter("allOf")
        self._left -= len(parts)
        if self._left < 0:
            return without(node, "allOf"), within
        whole = [self._put_together(part, within) for part in parts if isinstance(part, dict)]
        seen = [name for _, names in whole for name in names[len(within) :]]
        return merged([*(part for part, _ in whole), without(node, "allOf")]), (*within, *seen)

    def _inner(self, key: str, value: JsonValue, within: tuple[str, ...]) -> JsonValue:
        """The schemas below a keyword; any other value as it is."""
        if key in _MAPS and isinstance(value, dict):
            return {name: self._one(each, within) for name, each in value.items()}
        if key in _LISTS and isinstance(value, list):
            return [self._one(each, within) for each in value]
        return self._one(value, within) if key in _ONES else value

    def _one(self, value: JsonValue, within: tuple[str, ...]) -> JsonValue:
        return self.node(value, within) if isinstance(value, dict) else value

    def _passes(self, key: str, value: JsonValue) -> bool:
        check = self._check
        if key in check.drops or (check.keeps and key not in check.keeps):
            return False
        return key != "format" or check.formats is None or value in check.formats

    def _told(self, before: JsonObject, after: JsonObject) -> JsonObject:
        """The new one, once its differences are noted: what is gone or other, else what was added."""
        gone = [key for key, value in before.items() if key not in after or after[key] != value]
        for key in gone or (key for key in after if key not in before):
            self._alter(key)
        return after

    def _alter(self, key: str) -> None:
        self.altered[key] = None


def _kept(node: JsonObject) -> JsonObject:
    """The properties that the members of a union have."""
    members = (each for key in ("anyOf", "oneOf", "allOf") for each in objects_of(node.get(key)))
    found: JsonObject = {}
    for member in members:
        found |= object_of(member.get("properties"))
    return {"properties": found} if found else {}
