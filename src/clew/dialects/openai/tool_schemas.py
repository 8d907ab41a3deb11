"""The schemas of tools' inputs and of answers: as they are, unless a backend's check is known to refuse what is in them."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import msgspec
from msgspec import Raw
from msgspec.json import Decoder

from clew.dialects.openai.fields import RequestChanges, decode
from clew.dialects.openai.schemas import FittedSchema, fit_schema
from clew.errors import RequestInvalid
from clew.model.facts.chat_backends import validator
from clew.model.json import JsonObject, JsonValue, object_of

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
