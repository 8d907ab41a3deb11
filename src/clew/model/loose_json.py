"""Reads values out of JSON that promises nothing: a member of the wrong kind is as good as absent.

Servers that speak this protocol fill members with null, leave them out, or give them another type in the next chunk. The
decoder asks for what it can use, and gets an empty value for everything else. What a client sends is read strictly instead
(`reading`): there a value of the wrong kind is an error, named by its place.
"""

from __future__ import annotations

from clew.model.bounds import MOST_TOKENS
from clew.model.json import JsonObject, JsonValue, read_json


def text_of(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


def object_of(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def objects_of(value: JsonValue) -> list[JsonObject]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def count_of(value: JsonValue) -> int:
    """A number of tokens; 0 for what cannot be one: `true`, a negative number, more than any answer has."""
    if type(value) is int or (isinstance(value, float) and value.is_integer()):
        return int(value) if 0 < value <= MOST_TOKENS else 0
    return 0


def read_object(raw: bytes) -> JsonObject | None:
    """The JSON object in these bytes; None if they hold anything else."""
    value = read_value(raw)
    return value if isinstance(value, dict) else None


def read_value(raw: bytes) -> JsonValue:
    """The JSON value in these bytes; None if they hold none. Strings may hold half a character."""
    try:
        return read_json(raw)
    except (ValueError, RecursionError):
        return None
