"""What an answer cost, where its backend does not say: nothing, in the places where clients look for numbers.

The vendor always says it, so clients read it without a look whether it is there: the SDKs end a stream with an error of
their own, and Claude Code adds up. What is recorded stays untold.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import msgspec

from clew.errors import RequestInvalid
from clew.model.events import Event, MessageDelta, MessageStart
from clew.model.json import JsonObject
from clew.wire.events import encode_event
from clew.wire.splice import set_key

__all__ = ["lacks_usage", "with_usage", "written_with_usage"]

_NONE: Final[JsonObject] = {"input_tokens": 0, "output_tokens": 0}
_AT_THE_END: Final[JsonObject] = {"output_tokens": 0}


def lacks_usage(event: Event) -> bool:
    """Whether it is an event that says what the answer cost, and does not."""
    if isinstance(event, MessageStart):
        return not isinstance(event.message.get("usage"), dict)
    return isinstance(event, MessageDelta) and event.usage is None


def written_with_usage(event: Event, model: str) -> bytes:
    """An event that lacks it, with it; `model` is the name that the client asked for."""
    if isinstance(event, MessageStart):
        return encode_event(replace(event, message={**event.message, "model": model, "usage": _NONE}))
    return encode_event(replace(event, usage=_AT_THE_END) if isinstance(event, MessageDelta) else event)


def with_usage(raw: bytes, message: JsonObject) -> bytes:
    """The same for a message in one piece, whose other bytes stay as they came."""
    if isinstance(message.get("usage"), dict):
        return raw
    try:
        return set_key(raw, "usage", msgspec.json.encode(_NONE))
    except RequestInvalid:
        return raw
