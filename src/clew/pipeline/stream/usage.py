"""What an answer cost, where its backend does not say: nothing, in the places where clients look for numbers.

The vendor always says it, so clients read it without a look whether it is there: the SDKs end a stream with an error of
their own, and Claude Code adds up. What is recorded stays untold.
"""

from __future__ import annotations

from typing import Final

from clew.errors import RequestInvalid
from clew.model.events import Event, MessageDelta, MessageStart, data_of
from clew.model.json import JsonObject
from clew.pipeline.stream.rename import renamed
from clew.wire.splice import Edit, apply, locate, set_key
from clew.wire.sse import sse_bytes

__all__ = ["lacks_usage", "with_usage", "written_with_usage"]

_NONE: Final = b'{"input_tokens":0,"output_tokens":0}'
_AT_THE_END: Final = b'{"output_tokens":0}'


def lacks_usage(event: Event) -> bool:
    """Whether it is an event that says what the answer cost, and does not."""
    if isinstance(event, MessageStart):
        return not isinstance(event.message.get("usage"), dict)
    return isinstance(event, MessageDelta) and event.usage is None


def written_with_usage(event: Event, raw: bytes, model: str) -> bytes:
    """An event that lacks it, with it; its other data stay as they came. `model` is the name that the client asked for."""
    data = data_of(event)
    try:
        data = _in_message(data, model) if isinstance(event, MessageStart) else set_key(data, "usage", _AT_THE_END)
    except RequestInvalid:
        return raw
    return sse_bytes(event.type.encode(), data)


def _in_message(data: bytes, model: str) -> bytes:
    """The model's name stands beside it."""
    start, end = locate(data, ("message",))
    message = renamed(set_key(data[start:end], "usage", _NONE), model)
    return apply(data, [Edit(start, end, message)])


def with_usage(raw: bytes, message: JsonObject) -> bytes:
    """The same for a message in one piece."""
    if isinstance(message.get("usage"), dict):
        return raw
    try:
        return set_key(raw, "usage", _NONE)
    except RequestInvalid:
        return raw
