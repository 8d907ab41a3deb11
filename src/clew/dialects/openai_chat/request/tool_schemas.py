"""The schemas of a request, of tools' inputs and of the answer: as they are, or as the backend's check wants them."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import msgspec
from msgspec import Raw
from msgspec.json import Decoder

from clew.dialects.openai_chat.request.notes import Notes
from clew.dialects.openai_chat.request.reading import decoded
from clew.dialects.openai_chat.request.schemas import Fitted, fitted
from clew.dialects.openai_chat.wire import Wire
from clew.errors import RequestInvalid
from clew.model.facts.validators import validator
from clew.model.json import JsonObject, JsonValue
from clew.model.loose_json import object_of

__all__ = ["is_closed", "schema_to_send"]

REFUSED = "this backend's check of schemas does not know it as it is: "
EMPTY = "this backend's check of schemas refuses an object without properties"

_object: Final[Decoder[JsonObject]] = Decoder(dict[str, JsonValue])


def schema_to_send(raw: Raw, path: str, wire: Wire, notes: Notes) -> Raw | JsonObject:
    """The bytes that came, if they pass; {} for an object without properties where that must not be said."""
    if not wire.validator:
        return raw
    try:
        done = _fitted(bytes(raw), wire.validator)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RequestInvalid(f"{path}: {error}", path=path) from None
    if "empty" in validator(wire.validator).rewrites and done.is_empty:
        notes.left_out(path, EMPTY)
        return {}
    if not done.altered:
        return raw
    notes.add(path, "replaced", REFUSED + ", ".join(done.altered))
    return done.schema


@lru_cache(maxsize=512)
def _fitted(raw: bytes, check: str) -> Fitted:
    """A client sends the same tools with every request."""
    return fitted(_object.decode(raw), validator(check))


def is_closed(raw: Raw, path: str) -> bool:
    """Whether every object in it has all its properties required and no others: only then can it be held to strictly."""
    return _is_closed(decoded(raw, _object, path))


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
