"""Raw values of a request's body as plain objects, and back.

A step decides on plain values and writes back only the keys that differ, so that every other byte of the object stays as the
client wrote it.
"""

from __future__ import annotations

import msgspec
from msgspec import UNSET, Raw, UnsetType

from clew.errors import RequestInvalid
from clew.model.json import JsonObject, JsonValue
from clew.model.request import Request
from clew.wire.splice import apply, edit_object

__all__ = ["bytes_of", "changed_fields", "has_items", "number_of", "object_of", "rewritten", "value_of"]

_array = msgspec.json.Decoder(list[Raw])
_SHOWN = 40


def bytes_of(raw: Raw | UnsetType) -> bytes:
    """The bytes; none if it is absent."""
    return b"" if raw is UNSET else bytes(raw)


def has_items(raw: Raw | UnsetType) -> bool:
    """Whether it is an array with something in it. What that is, is not looked at."""
    try:
        return raw is not UNSET and bool(_array.decode(raw))
    except msgspec.DecodeError:
        return False


def value_of(raw: Raw | UnsetType) -> JsonValue:
    """The plain value; None if it is absent. Raises RequestInvalid for a number that no machine has room for."""
    try:
        return None if raw is UNSET else msgspec.json.decode(raw)
    except msgspec.ValidationError as error:
        raise RequestInvalid(f"{error}: {bytes_of(raw)[:_SHOWN].decode('utf-8', 'replace')}") from None


def object_of(raw: Raw | UnsetType) -> JsonObject | None:
    """The plain object; None if it is absent or another kind of value, which is the vendor's to refuse."""
    value = value_of(raw)
    return value if isinstance(value, dict) else None


def number_of(raw: Raw | UnsetType) -> int | float | None:
    """The plain number; None if it is absent or another kind of value."""
    value = value_of(raw)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def rewritten(raw: Raw | UnsetType, after: JsonObject | None, *, path: str) -> Raw | UnsetType:
    """The object as `after` says, with the bytes of every key that is the same; the very same value if all are.

    Raises RequestInvalid if a key that must change is there twice.
    """
    if after is None:
        return UNSET
    before = object_of(raw)
    if before is None or raw is UNSET:
        return Raw(msgspec.json.encode(after))
    put = {key: msgspec.json.encode(value) for key, value in after.items() if key not in before or before[key] != value}
    drop = [key for key in before if key not in after]
    if not put and not drop:
        return raw
    text = bytes(raw)
    return Raw(apply(text, edit_object(text, put=put, drop=drop, path=path)))


def changed_fields(request: Request, **fields: object) -> Request:
    """The request with these fields of its body; the very same request if none differs."""
    new = {name: value for name, value in fields.items() if value is not getattr(request.body, name)}
    return request.with_fields(**new) if new else request
