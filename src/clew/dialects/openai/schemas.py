"""Schemas that a backend's own check lets pass.

JSON Schema says one thing in many ways, and the checks of some backends know only a few of them; one unknown keyword fails
the whole request, whatever the tool is for. So a schema is written again in the words of the check (`validators.toml`), and
what cannot be said is left out: the model is told less, and the client still checks what it gets. Names of properties are
never taken for keywords. A schema that passes comes back as it is, so fitting it twice is the same as once.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import msgspec
from msgspec import Raw, Struct
from msgspec.json import Decoder

from clew.dialects.openai.fields import RequestChanges, decode
from clew.dialects.openai.schema_rewrites import REWRITES, merge_parts, resolve_reference, without
from clew.errors import RequestInvalid
from clew.model.facts.chat_backends import Validator, validator
from clew.model.json import JsonObject, JsonValue, object_of, objects_of

# The schemas of tools' inputs and of answers go as they are, unless a backend's check is known to refuse what is in them.


REFUSED = "this backend's check of schemas does not know it as it is: "
EMPTY = "this backend's check of schemas refuses an object without properties"

ANY_OBJECT: Final = Raw(b'{"type":"object","properties":{}}')
_schema: Final[Decoder[JsonObject]] = Decoder(dict[str, JsonValue])


def schema_to_send(raw: Raw, path: str, check: str, changes: RequestChanges) -> Raw | JsonObject:
    """The bytes that came, if they pass this check (a row of `validators.toml`; "": none); {} for an object without
    properties where that must not be said."""
    if not check:
        return raw
    try:
        done = _fitted(bytes(raw), check)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RequestInvalid(f"{path}: {error}", path=path) from None
    if "empty" in validator(check).rewrites and done.is_empty:
        changes.leave_out(path, EMPTY)
        return {}
    if not done.altered:
        return raw
    changes.add(path, "replaced", REFUSED + ", ".join(done.altered))
    return done.schema


@lru_cache(maxsize=512)
def _fitted(raw: bytes, check: str) -> FittedSchema:
    """A client sends the same tools with every request."""
    return fit_schema(_schema.decode(raw), validator(check))


def is_closed(raw: Raw, path: str) -> bool:
    """Whether every object in a schema has all its properties required and no others: only then can it be held strictly."""
    return _is_closed(decode(raw, _schema, path))


def _is_closed(value: JsonValue) -> bool:
    if isinstance(value, list):
        return all(map(_is_closed, value))
    if not isinstance(value, dict):
        return True
    names, needed = object_of(value.get("properties")), value.get("required")
    required = needed if isinstance(needed, list) else []
    shut = value.get("additionalProperties") is False and all(name in required for name in names)
    if value.get("type") == "object" and not shut:
        return False
    return all(map(_is_closed, [*names.values(), value.get("items"), value.get("anyOf")]))


_MAPS: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_ONES: Final = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
_UNIONS: Final = ("anyOf", "oneOf", "allOf", "not", "enum", "const")

_ROUNDS: Final = 5
_DEPTH: Final = 64
_MOST: Final = 2000
"""Schemas in one: references to references can make a few lines into millions."""


class FittedSchema(Struct, frozen=True):
    """The schema that passes, and the keywords that were removed or said otherwise, in order of appearance."""

    schema: JsonObject
    altered: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether it is an object without properties."""
        return not self.schema.get("properties")


def fit_schema(schema: JsonObject, check: Validator) -> FittedSchema:
    """The schema of a tool's input, or of an answer. A rewrite may bring in what another one rewrites, so there are
    rounds."""
    altered: dict[str, None] = {}
    for _ in range(_ROUNDS):
        fitting = _Fitting(schema, check)
        schema = fitting.fit_root()
        if not fitting.altered:
            break
        altered |= fitting.altered
    return FittedSchema(schema, tuple(altered))


class _Fitting:
    """One schema on its way through a check, once."""

    def __init__(self, root: JsonObject, check: Validator) -> None:
        self._root = root
        self._check = check
        self._left = _MOST
        self._depth = 0
        self.altered: dict[str, None] = {}
        """The keywords that were removed or written otherwise, in order."""

    def fit_root(self) -> JsonObject:
        """The outermost schema. Where the check wants an object that is no union, it has the properties of the members."""
        done = self._fit(self._root, ())
        if "root" not in self._check.rewrites:
            return done
        members = [each for key in ("anyOf", "oneOf", "allOf") for each in objects_of(done.get(key))]
        properties: JsonObject = {}
        for member in members:
            properties |= object_of(member.get("properties"))
        union: JsonObject = {"properties": properties} if properties else {}
        plain: JsonObject = {**union, **without(done, *_UNIONS), "type": "object"}
        return self._compare(done, plain if "empty" in self._check.rewrites else {"properties": {}, **plain})

    def _fit(self, node: JsonObject, within: tuple[str, ...]) -> JsonObject:
        """One schema and all that is in it; `within` are the references that led here, so that a circle is seen."""
        self._left -= 1
        if self._depth > _DEPTH or self._left < 0:
            self.altered["$ref"] = None
            return {"type": "object"}
        node, within = self._rewrite(node, within)
        node = self._compare(node, {key: each for key, each in node.items() if self._passes(key, each)})
        self._depth += 1
        done: JsonObject = {key: self._fit_below(key, each, within) for key, each in node.items()}
        self._depth -= 1
        return done

    def _rewrite(self, node: JsonObject, within: tuple[str, ...]) -> tuple[JsonObject, tuple[str, ...]]:
        """The schema in the words of the check. A union of one may bring in a reference, so it begins again."""
        for _ in range(_DEPTH):
            node, within = self._expand(node, within)
            for name, rewrite in REWRITES.items():
                if name in self._check.rewrites:
                    node = self._compare(node, rewrite(node))
            if "$ref" not in node or "refs" not in self._check.rewrites:
                break
        return node, within

    def _expand(self, node: JsonObject, within: tuple[str, ...]) -> tuple[JsonObject, tuple[str, ...]]:
        """The schema with what it refers to, and with all of its parts."""
        if "$ref" in node and "refs" in self._check.rewrites:
            self.altered["$ref"] = None
            node, within = resolve_reference(node, self._root, within)
        parts = node.get("allOf")
        if not isinstance(parts, list) or "all_of" not in self._check.rewrites:
            return node, within
        self.altered["allOf"] = None
        self._left -= len(parts)
        if self._left < 0:
            return without(node, "allOf"), within
        whole = [self._expand(part, within) for part in parts if isinstance(part, dict)]
        seen = [name for _, names in whole for name in names[len(within) :]]
        return merge_parts([*(part for part, _ in whole), without(node, "allOf")]), (*within, *seen)

    def _fit_below(self, key: str, value: JsonValue, within: tuple[str, ...]) -> JsonValue:
        """The schemas below a keyword; any other value as it is."""
        if key in _MAPS and isinstance(value, dict):
            return {name: self._fit_value(each, within) for name, each in value.items()}
        if key in _LISTS and isinstance(value, list):
            return [self._fit_value(each, within) for each in value]
        return self._fit_value(value, within) if key in _ONES else value

    def _fit_value(self, value: JsonValue, within: tuple[str, ...]) -> JsonValue:
        return self._fit(value, within) if isinstance(value, dict) else value

    def _passes(self, key: str, value: JsonValue) -> bool:
        check = self._check
        if key in check.drops or (check.keeps and key not in check.keeps):
            return False
        return key != "format" or check.formats is None or value in check.formats

    def _compare(self, before: JsonObject, after: JsonObject) -> JsonObject:
        """The new one, once its differences are noted: what is gone or other, else what was added."""
        gone = [key for key, value in before.items() if key not in after or after[key] != value]
        for key in gone or (key for key in after if key not in before):
            self.altered[key] = None
        return after
