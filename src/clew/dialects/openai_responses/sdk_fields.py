"""Fields that OpenAI's SDK for JavaScript adds to what it hands to an app. They come back with the history, and no server
knows them: `parsed_arguments` of a call, `parsed` of what was said."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Raw

from clew.dialects.openai.fields import OBJECT

_MARK: Final = b'"parsed'
_OF_ITEMS: Final = "parsed_arguments"
_OF_PARTS: Final = "parsed"
_parts = msgspec.json.Decoder(list[dict[str, Raw]])


def without_sdk_fields(item: Raw) -> Raw:
    """The item as the server gave it; the very same where nothing was added."""
    if _MARK not in bytes(item):
        return item
    try:
        fields = OBJECT.decode(item)
        parts = _parts.decode(fields["content"]) if _MARK in bytes(fields.get("content", b"")) else []
    except msgspec.MsgspecError:  # whatever it is, it is none of the SDK's items
        return item
    fields.pop(_OF_ITEMS, None)
    if parts:
        cleaned = [{name: value for name, value in part.items() if name != _OF_PARTS} for part in parts]
        fields["content"] = Raw(msgspec.json.encode(cleaned))
    return Raw(msgspec.json.encode(fields))
