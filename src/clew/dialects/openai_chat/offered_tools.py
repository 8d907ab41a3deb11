"""The tools that a request offers, for calls that a model writes as text: their names, and the types of their arguments.

Where a form has only texts, the schema of the tool says what each stands for. A text that is nothing the schema allows stays
a text: the tool says what is wrong with it.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Final

import msgspec
from msgspec import Struct

from clew.dialects.openai.parameters import sent_name
from clew.model.json import JsonObject, JsonValue, object_of, objects_of, text_of

_INTEGER: Final = re.compile(r"[+-]?\d{1,300}(?:\.0*)?")
_WORDS: Final = {"true": True, "false": False}
_TEXT: Final = frozenset({"string"})
_NOTHING: Final = ("null", "none")
_MOST_DEEP: Final = 6
"""References and choices of a schema that are followed."""


class _Tool(Struct):
    name: str = ""
    type: str | None = None
    input_schema: msgspec.Raw = msgspec.Raw(b"{}")


class _ToolChoice(Struct):
    type: str = ""


class _Offer(Struct):
    tools: list[_Tool] | None = None
    tool_choice: _ToolChoice | None = None


class OfferedTools:
    """Of one request, by the names under which the backend got them. It is read when it is asked for the first time: few
    answers have anything that looks like a call."""

    def __init__(self, document: bytes) -> None:
        self._document = document

    @cached_property
    def _tools(self) -> dict[str, _Tool]:
        if b'"tools"' not in self._document:
            return {}
        try:
            offer = msgspec.json.decode(self._document, type=_Offer)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return {}
        if offer.tool_choice and offer.tool_choice.type == "none":
            return {}
        own = [tool for tool in offer.tools or () if tool.name and tool.type in (None, "", "custom")]
        return {sent_name(tool.name): tool for tool in own}

    @property
    def is_empty(self) -> bool:
        return not self._tools

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def client_name(self, name: str) -> str:
        """The client's own name of the tool."""
        return self._tools[name].name

    def typed(self, name: str, arguments: dict[str, str]) -> JsonObject:
        """The arguments with the types that the tool's schema gives them."""
        try:
            schema = object_of(msgspec.json.decode(self._tools[name].input_schema))
        except (ValueError, RecursionError):
            schema = {}
        properties = object_of(schema.get("properties"))
        return {key: value_of(text, _types_of(properties.get(key), schema)) for key, text in arguments.items()}


def value_of(text: str, types: frozenset[str]) -> JsonValue:
    """What a text stands for, if it may be any of these types. Without a type, only objects and lists are more than text."""
    word = text.strip()
    if "null" in types and word.lower() in _NOTHING:
        return None
    if "boolean" in types and word.lower() in _WORDS:
        return _WORDS[word.lower()]
    if types & {"integer", "number"} and _INTEGER.fullmatch(word):
        return int(word.partition(".")[0])
    if types == _TEXT or not word:
        return text
    try:
        value: JsonValue = msgspec.json.decode(word)
    except (ValueError, RecursionError):
        return text
    return value if _type_of(value) in (types or ("object", "array")) else text


def _types_of(schema: JsonValue, root: JsonObject, depth: int = 0) -> frozenset[str]:
    """The types that a schema allows, as far as it says so."""
    if not isinstance(schema, dict) or depth > _MOST_DEEP:
        return frozenset()
    said = schema.get("type")
    if isinstance(said, str | list):
        return frozenset([said] if isinstance(said, str) else [each for each in said if isinstance(each, str)])
    if values := schema.get("enum") or ([schema["const"]] if "const" in schema else None):
        return frozenset(_type_of(value) for value in values) if isinstance(values, list) else frozenset()
    if reference := text_of(schema.get("$ref")):
        # What `#/…` refers to
        value: JsonValue = root
        for word in reference.removeprefix("#").strip("/").split("/"):
            value = object_of(value).get(word.replace("~1", "/").replace("~0", "~"))
        return _types_of(value, root, depth + 1)
    choices = [each for word in ("anyOf", "oneOf", "allOf") for each in objects_of(schema.get(word))]
    if choices:
        return frozenset[str]().union(*[_types_of(each, root, depth + 1) for each in choices])
    return frozenset({"object"} if "properties" in schema else {"array"} if "items" in schema else ())


def _type_of(value: JsonValue) -> str:
    match value:
        case bool():
            return "boolean"
        case str():
            return "string"
        case int() | float():
            return "number"
        case dict():
            return "object"
        case list():
            return "array"
        case None:
            return "null"
