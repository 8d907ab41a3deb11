"""Reads values out of JSON that promises nothing: a member of the wrong kind is as good as absent.

Servers that speak this protocol fill members with null, leave them out, or give them another type in the next chunk. The
decoder asks for what it can use, and gets an empty value for everything else. What a client sends is read strictly instead
(`reading`): there a value of the wrong kind is an error, named by its place.
"""

from __future__ import annotations

import json

import msgspec

from clew.model.halves import whole_text
from clew.model.json import JsonObject, JsonValue

__all__ = ["count_of", "object_of", "objects_of", "read_object", "read_value", "text_of", "whole_value"]

_json = msgspec.json.Decoder()


def text_of(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


def object_of(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def objects_of(value: JsonValue) -> list[JsonObject]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def count_of(value: JsonValue) -> int:
    """A number of things; `true` is none, and nobody has fewer than no tokens."""
    if type(value) is int:
        return value if value > 0 else 0
    return int(value) if isinstance(value, float) and value > 0 and value.is_integer() else 0


def read_object(raw: bytes) -> JsonObject | None:
    """The JSON object in these bytes; None if they hold anything else."""
    value = read_value(raw)
    return value if isinstance(value, dict) else None


def read_value(raw: bytes) -> JsonValue:
    """The JSON value in these bytes; None if they hold none. Strings may hold half a character."""
    try:
        return _json.decode(raw)
    except msgspec.DecodeError:
        return _with_halves(raw)
    except (ValueError, RecursionError):
        return None


def _with_halves(raw: bytes) -> JsonValue:
    """Our decoder refuses an escaped half of a character; the standard one does not."""
    if b"\\ud" not in raw.lower():
        return None
    try:
        return json.loads(raw, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def _refuse(word: str) -> JsonValue:
    raise ValueError(f"{word} is no JSON")


def whole_value(value: JsonValue) -> JsonValue:
    """The value with every text in it made whole, so that it can be written again."""
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, list):
        return [whole_value(each) for each in value]
    if isinstance(value, dict):
        return {whole_text(name): whole_value(each) for name, each in value.items()}
    return value
