"""Structured output: an answer that is a value of a type.

The system prompt describes the form of the answer, with the same words at every step, because thinking may be bound to it.
If the model can follow a schema (its profile says so), the request has the schema too. In both cases the answer is checked,
and after a wrong one the model is asked again and told what was wrong.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec
from msgspec import Struct

from clew.chat.agent.schema import converted, schema_of
from clew.model.json import JsonObject, JsonValue

_WORDS: Final = "When you are done, answer with JSON alone, without any other words. It must fit this JSON Schema:\n"
_AGAIN: Final = "That answer does not fit: {why}. Answer again, with JSON alone that fits the schema."
_FENCED = re.compile(r"```(?:json)?[^\S\n]*\n(.*?)\n[^\S\n]*```", re.DOTALL)
_FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
_KEPT_KEYS = ("type", "enum", "const", "description", "title", "required", "$ref")


class _Value(Struct):
    """An object around a value that is none: schemas that models follow must have an object at the top."""

    value: Any


class OutputForm(Struct, frozen=True, eq=False):
    """The type of an answer, and its schema."""

    type: Any
    is_wrapped: bool
    schema: JsonObject
    strict: JsonObject | None
    """The schema that a model can follow; None if the vendors' schemas cannot express the type."""

    @property
    def words(self) -> str:
        """The text for the system prompt that asks for an answer of this schema."""
        return _WORDS + msgspec.json.encode(self.schema).decode()

    def read(self, text: str) -> object:
        """The value of an answer. Raises msgspec.MsgspecError."""
        try:
            given = _json_in(text)
        except RecursionError:  # a model in a loop writes brackets without an end
            raise msgspec.DecodeError("it is nested too deeply") from None
        wanted = converted(given, _Value).value if self.is_wrapped else given
        return converted(wanted, self.type)


def output_form_of(kind: Any) -> OutputForm:
    """The form of a type. Raises SettingsInvalid for a type that JSON has no form for.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Weather:
    ...     degrees: int
    >>> output_form_of(Weather).read('{"degrees": 21}')
    Weather(degrees=21)
    """
    own = schema_of(kind, getattr(kind, "__name__", str(kind)))
    if own.get("type") == "object":
        return OutputForm(kind, False, own, _strict(own))
    parts = own.pop("$defs", None)
    wrapped: JsonObject = {"type": "object", "properties": {"value": own}, "required": ["value"]}
    schema = {**wrapped, "$defs": parts} if parts else wrapped
    return OutputForm(kind, True, schema, _strict(schema))


def correction(why: str) -> str:
    """The message to the model after an answer that does not fit."""
    return _AGAIN.format(why=why)


def _json_in(text: str) -> JsonValue:
    """The JSON in an answer: the whole text, or a fenced block, or from the first brace to the last."""
    fenced = _FENCED.search(text)
    inner = text[text.find("{") : text.rfind("}") + 1]
    for each in (text, fenced[1] if fenced else ""):
        try:
            return msgspec.json.decode(each)
        except msgspec.DecodeError:
            continue
    return msgspec.json.decode(inner or text)


class _NotStrict(Exception):
    """A schema that a model cannot follow."""


def _strict(schema: JsonObject) -> JsonObject | None:
    """The schema with closed objects, without the bounds that the vendors refuse: those are checked afterwards."""
    parts = cast(Mapping[str, JsonObject], schema.get("$defs", {}))
    try:
        top = _closed({name: value for name, value in schema.items() if name != "$defs"})
        closed = {name: _closed(part) for name, part in parts.items()}
        for name in parts:
            _check_ends(name, parts, ())
    except _NotStrict:
        return None
    return {**top, "$defs": dict(closed)} if closed else top


def _closed(schema: JsonObject) -> JsonObject:
    kept: JsonObject = {name: schema[name] for name in _KEPT_KEYS if name in schema}
    if schema.get("format") in _FORMATS:
        kept["format"] = schema["format"]
    if "anyOf" in schema:
        kept["anyOf"] = [_closed(each) for each in cast(list[JsonObject], schema["anyOf"])]
    if schema.get("type") == "object":
        # An object with fields of any name cannot be asked for.
        if schema.get("additionalProperties") or "properties" not in schema:
            raise _NotStrict
        fields = cast(Mapping[str, JsonObject], schema["properties"])
        kept["properties"] = {name: _closed(each) for name, each in fields.items()}
        return {**kept, "additionalProperties": False}
    if schema.get("type") == "array":
        if "prefixItems" in schema or not isinstance(schema.get("items"), dict):
            raise _NotStrict
        kept["items"] = _closed(cast(JsonObject, schema["items"]))
    if not kept.keys() & {"type", "enum", "const", "$ref", "anyOf"}:
        raise _NotStrict
    return kept


def _check_ends(name: str, parts: Mapping[str, JsonObject], trail: tuple[str, ...]) -> None:
    """Raises if a type contains itself: such a schema is not accepted."""
    if name in trail:
        raise _NotStrict
    for other in set(re.findall(r'"#/\$defs/([^"]+)"', msgspec.json.encode(parts[name]).decode())):
        _check_ends(other, parts, (*trail, name))
