"""Rewrites of a schema in other words: each takes a schema and returns a new one, or the very same.

A rewrite looks at one schema and not below it, and leaves alone what it does not understand. The order is that of
`REWRITES`: what one of them brings in (the members of a reference, a union out of "one of") is there for those that follow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from clew.model.facts.chat_backends import Rewrite
from clew.model.json import JsonObject, JsonValue

_ANCHORED: Final = re.compile(r"\^(?:[^\\]|\\[^a-zA-Z0-9])*\$", re.S)
_ANY_ITEM: Final[JsonObject] = {"type": "string"}
_TYPES: Final = {"bool": "boolean", "int": "integer", "float": "number", "str": "string", "dict": "object", "list": "array"}


def without(node: JsonObject, *keys: str) -> JsonObject:
    return {key: value for key, value in node.items() if key not in keys}


def resolve_reference(node: JsonObject, root: JsonObject, within: tuple[str, ...]) -> tuple[JsonObject, tuple[str, ...]]:
    """What a reference refers to, with what stands beside it; any object if it is in a circle or leads nowhere."""
    beside = without(node, "$ref")
    name = str(node["$ref"])
    target: JsonValue = root if name.startswith("#") and name not in within else None
    for step in filter(None, name.removeprefix("#").split("/")):
        target = target.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(target, dict) else None
    if not isinstance(target, dict):
        return {"type": "object", **beside}, within
    if "$ref" in target:
        found, within = resolve_reference(target, root, (*within, name))
        return {**found, **beside}, within
    return {**target, **beside}, (*within, name)


def merge_parts(parts: list[JsonObject]) -> JsonObject:
    """Parts that all hold, as one: properties of all, what any requires; otherwise the last one's value."""
    done: JsonObject = {}
    for part in parts:
        mine, theirs = done.get("properties"), part.get("properties")
        needed, more = done.get("required"), part.get("required")
        done = {**done, **part}
        if isinstance(mine, dict) and isinstance(theirs, dict):
            done["properties"] = {**mine, **theirs}
        if isinstance(needed, list) and isinstance(more, list):
            done["required"] = [*needed, *(each for each in more if each not in needed)]
    return done


def rewrite_one_of(node: JsonObject) -> JsonObject:
    members = node.get("oneOf")
    if not isinstance(members, list):
        return node
    others = node.get("anyOf")
    return {**without(node, "oneOf"), "anyOf": [*(others if isinstance(others, list) else ()), *members]}


def rewrite_null(node: JsonObject) -> JsonObject:
    """Null in a union, or in a list of types, becomes `nullable`. A union of one is that one."""
    members = node.get("anyOf")
    if not isinstance(members, list):
        return _null_type(node)
    some = [member for member in members if not (isinstance(member, dict) and member.get("type") == "null")]
    nullable: JsonObject = {"nullable": True} if len(some) < len(members) else {}
    rest = without(node, "anyOf")
    if len(some) > 1:
        return _null_type({**rest, "anyOf": some, **nullable} if nullable else node)
    only = some[0] if some else None
    return _null_type({**(only if isinstance(only, dict) else {}), **rest, **nullable})


def _null_type(node: JsonObject) -> JsonObject:
    """A list of types: null apart, one alone, several as a union."""
    types = node.get("type")
    if not isinstance(types, list):
        return node
    some = [each for each in types if each != "null"]
    rest = {**without(node, "type"), **({"nullable": True} if len(some) < len(types) else {})}
    if len(some) == 1:
        return {"type": some[0], **rest}
    return {"anyOf": [{"type": each} for each in some], **rest} if some else rest


def rewrite_const(node: JsonObject) -> JsonObject:
    if "const" not in node:
        return node
    kind = _kind(node["const"])
    typed: JsonObject = {"type": kind} if kind else {}
    return {**typed, **without(node, "const"), "enum": [node["const"]]}


def rewrite_bounds(node: JsonObject) -> JsonObject:
    """Exclusive bounds as inclusive ones. One that is true or false is of an older draft, and is about the inclusive one."""
    for exclusive, inclusive, step in (("exclusiveMinimum", "minimum", 1), ("exclusiveMaximum", "maximum", -1)):
        if exclusive in node:
            bound = node.get(inclusive) if node[exclusive] is True else node[exclusive]
            node = without(node, exclusive)
            if isinstance(bound, int | float) and not isinstance(bound, bool):
                node = {**node, inclusive: bound + step if node.get("type") == "integer" else bound}
    return node


def rewrite_enums(node: JsonObject) -> JsonObject:
    values = node.get("enum")
    if not isinstance(values, list):
        return node
    texts: list[JsonValue] = [each for each in values if isinstance(each, str) and each]
    if len(texts) == len(values) and texts:
        return node
    rest = without(node, "enum")
    return {**rest, "enum": texts} if texts and node.get("type", "string") == "string" else rest


def rewrite_patterns(node: JsonObject) -> JsonObject:
    pattern = node.get("pattern")
    if not isinstance(pattern, str) or _ANCHORED.fullmatch(pattern):
        return node
    return without(node, "pattern")


def rewrite_required(node: JsonObject) -> JsonObject:
    needed, known = node.get("required"), node.get("properties")
    if not isinstance(needed, list):
        return node
    there: list[JsonValue] = [each for each in needed if isinstance(known, dict) and each in known]
    if len(there) == len(needed) and there:
        return node
    rest = without(node, "required")
    return {**rest, "required": there} if there else rest


def rewrite_items(node: JsonObject) -> JsonObject:
    places, items = node.get("prefixItems"), node.get("items")
    if node.get("type") != "array" and not isinstance(items, list):
        return node
    places = items if isinstance(items, list) else places
    if isinstance(items, dict) and places is None:
        return node
    rest = without(node, "items", "prefixItems")
    members: list[JsonValue] = [each for each in places if isinstance(each, dict)] if isinstance(places, list) else []
    return {**rest, "items": members[0] if len(members) == 1 else {"anyOf": members} if members else _ANY_ITEM}


def rewrite_types(node: JsonObject) -> JsonObject:
    """Every schema has a type; of a union, its members."""
    if "$ref" in node:
        return node
    members, kind = node.get("anyOf"), node.get("type")
    if not isinstance(members, list):
        return node if "type" in node else {"type": _type_of(node), **node}
    if kind is None:
        return node
    typed: list[JsonValue] = [{"type": kind, **each} if isinstance(each, dict) else each for each in members]
    return {**without(node, "type"), "anyOf": typed}


def _type_of(node: JsonObject) -> str:
    """What a schema without a type is about."""
    if "properties" in node or "required" in node:
        return "object"
    if "items" in node or "prefixItems" in node:
        return "array"
    values = node.get("enum")
    kinds = {_kind(each) for each in values} if isinstance(values, list) else set[str]()
    return (kinds.pop() or "string") if len(kinds) == 1 else "string"


def _kind(value: JsonValue) -> str:
    """The type of a value, in the words of a schema; "" for null."""
    return _TYPES.get(type(value).__name__, "")


def rewrite_empty(node: JsonObject) -> JsonObject:
    return without(node, "properties") if node.get("properties") == {} else node


REWRITES: Final[Mapping[Rewrite, Callable[[JsonObject], JsonObject]]] = {
    "one_of": rewrite_one_of,
    "null": rewrite_null,
    "const": rewrite_const,
    "bounds": rewrite_bounds,
    "enums": rewrite_enums,
    "patterns": rewrite_patterns,
    "items": rewrite_items,
    "types": rewrite_types,
    "empty": rewrite_empty,
    "required": rewrite_required,
}
"""By name, in the order in which they are done. References and parts are put together before; the root is seen to after."""
