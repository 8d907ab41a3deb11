"""Structured output: an answer that is a value of a type.

The system prompt says what the answer has to be, in the same words at every step, so that nothing changes under the thinking
that is bound to it; where the model can be held to a schema (its profile says so), the request asks for that too. Either way
the answer is checked, and a wrong one is asked for again with what was wrong.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec
from msgspec import Struct

from clew.chat.agent.rows import row_of
from clew.chat.agent.schema import converted, schema_of
from clew.chat.conversation import AsyncConversation
from clew.model.json import JsonObject, JsonValue
from clew.thinking.profiles import profile_for

__all__ = ["Form", "again", "form_of", "takes_schema"]

_WORDS: Final = "When you are done, answer with JSON alone, without any other words. It must fit this JSON Schema:\n"
_AGAIN: Final = "That answer does not fit: {why}. Answer again, with JSON alone that fits the schema."
_FENCED = re.compile(r"```(?:json)?[^\S\n]*\n(.*?)\n[^\S\n]*```", re.DOTALL)
_FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
_KEPT = ("type", "enum", "const", "description", "title", "required", "$ref")


class _Value(Struct):
    """What is no object by itself is the value of one: schemas that models are held to have an object at the top."""

    value: Any


class Form(Struct, frozen=True, eq=False):
    """The type that an answer is to be of."""

    type: Any
    is_wrapped: bool
    schema: JsonObject
    strict: JsonObject | None
    """The schema as far as a model can be held to it; None if it cannot be said that way."""

    @property
    def words(self) -> str:
        """For the system prompt."""
        return _WORDS + msgspec.json.encode(self.schema).decode()

    def read(self, text: str) -> object:
        """The value that an answer is. Raises msgspec.MsgspecError."""
        try:
            given = _json_in(text)
        except RecursionError:  # a model that goes in circles writes brackets without an end
            raise msgspec.DecodeError("it is nested too deeply") from None
        wanted = converted(given, _Value).value if self.is_wrapped else given
        return converted(wanted, self.type)


def form_of(kind: Any) -> Form:
    """The form of a type. Raises SettingsInvalid for one that JSON has no form for.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Weather:
    ...     degrees: int
    >>> form_of(Weather).read('{"degrees": 21}')
    Weather(degrees=21)
    """
    own = schema_of(kind, getattr(kind, "__name__", str(kind)))
    if own.get("type") == "object":
        return Form(kind, False, own, _strict(own))
    parts = own.pop("$defs", None)
    wrapped: JsonObject = {"type": "object", "properties": {"value": own}, "required": ["value"]}
    schema = {**wrapped, "$defs": parts} if parts else wrapped
    return Form(kind, True, schema, _strict(schema))


def again(why: str) -> str:
    """What to say to an answer that does not fit."""
    return _AGAIN.format(why=why)


def takes_schema(conversation: AsyncConversation) -> bool:
    """Can whoever answers next be held to a schema? For Chat Completions the translation knows how far."""
    row = row_of(conversation, conversation.backend)
    return profile_for(conversation.model).structured or (row is not None and row.dialect == "openai-chat")


def _json_in(text: str) -> JsonValue:
    """The JSON in an answer: all of it, or in a fence, or from the first brace to the last."""
    fenced = _FENCED.search(text)
    inner = text[text.find("{") : text.rfind("}") + 1]
    for each in (text, fenced[1] if fenced else ""):
        try:
            return msgspec.json.decode(each)
        except msgspec.DecodeError:
            continue
    return msgspec.json.decode(inner or text)


class _Unsayable(Exception):
    """A schema that a model cannot be held to."""


def _strict(schema: JsonObject) -> JsonObject | None:
    """Closed objects, and none of the bounds that the vendors refuse: those are checked afterwards."""
    parts = cast(Mapping[str, JsonObject], schema.get("$defs", {}))
    try:
        top = _closed({name: value for name, value in schema.items() if name != "$defs"})
        closed = {name: _closed(part) for name, part in parts.items()}
        for name in parts:
            _check_ends(name, parts, ())
    except _Unsayable:
        return None
    return {**top, "$defs": dict(closed)} if closed else top


def _closed(schema: JsonObject) -> JsonObject:
    kept: JsonObject = {name: schema[name] for name in _KEPT if name in schema}
    if schema.get("format") in _FORMATS:
        kept["format"] = schema["format"]
    if "anyOf" in schema:
        kept["anyOf"] = [_closed(each) for each in cast(list[JsonObject], schema["anyOf"])]
    if schema.get("type") == "object":
        return {**kept, **_closed_object(schema)}
    if schema.get("type") == "array":
        if "prefixItems" in schema or not isinstance(schema.get("items"), dict):
            raise _Unsayable
        kept["items"] = _closed(cast(JsonObject, schema["items"]))
    if not kept.keys() & {"type", "enum", "const", "$ref", "anyOf"}:
        raise _Unsayable
    return kept


def _closed_object(schema: JsonObject) -> JsonObject:
    """The object with its fields, and no others. One with fields of any name cannot be asked for."""
    if schema.get("additionalProperties") or "properties" not in schema:
        raise _Unsayable
    fields = cast(Mapping[str, JsonObject], schema["properties"])
    return {"properties": {name: _closed(each) for name, each in fields.items()}, "additionalProperties": False}


def _check_ends(name: str, parts: Mapping[str, JsonObject], trail: tuple[str, ...]) -> None:
    """A type that holds itself cannot be said."""
    if name in trail:
        raise _Unsayable
    for other in set(re.findall(r'"#/\$defs/([^"]+)"', msgspec.json.encode(parts[name]).decode())):
        _check_ends(other, parts, (*trail, name))
