"""Reads what is kept, whatever is in it: a page never fails for what somebody once said.

Half a surrogate pair is legal in JSON and no text; it comes from clients that cut a string in the middle of an emoji. The
strict decoder refuses it, so a lenient one reads it then, with a replacement character in its place.
"""

from __future__ import annotations

import json
import re
from typing import Final

import msgspec

from clew.model.json import JsonObject

__all__ = ["read"]

UNREADABLE: Final = "unreadable"

_HALVES: Final = re.compile("[\ud800-\udfff]")
_object = msgspec.json.Decoder(JsonObject)


def read(raw: bytes) -> JsonObject:
    """The object, or one of the type `unreadable`."""
    try:
        return _object.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _leniently(raw)


def _leniently(raw: bytes) -> JsonObject:
    try:
        found: object = json.loads(raw.decode("utf-8", "replace"))
        text = json.dumps(found, ensure_ascii=False)
        return _object.decode(_HALVES.sub("\ufffd", text).encode())
    except (ValueError, RecursionError):
        return {"type": UNREADABLE, "role": UNREADABLE}
