"""One event of a streamed answer, as typed values.

Servers that copy this protocol leave members out, fill them with null, or give them another type. So each member may be
anything, and a reader takes what it can use. Objects stay raw: the events at both ends of a stream repeat all
tools and instructions of the request, and nobody reads them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from clew.model.json import JsonObject, encoded, read_object

_NOTHING: Final = Raw(b"")
ANNOTATION: Final = "response.output_text.annotation.added"
TEXT_DELTAS: Final = frozenset(
    f"response.{name}.delta"
    for name in (
        *("output_text", "refusal", "reasoning_summary_text", "reasoning_text"),
        *("function_call_arguments", "custom_tool_call_input"),
    )
)
"""Neighbours of these types and of one place say one text."""


class ResponsesEvent(Struct, gc=False):
    """An event. `type` is that of its data, or else the name that the stream gives it."""

    type: Any = None
    output_index: Any = None
    item_id: Any = None
    content_index: Any = None
    summary_index: Any = None
    delta: Any = None
    text: Any = None
    refusal: Any = None
    arguments: Any = None
    input: Any = None
    item: Raw = _NOTHING
    response: Raw = _NOTHING
    annotation: Raw = _NOTHING

    @property
    def part(self) -> int:
        """Which part of its item it is about."""
        index = self.content_index if self.summary_index is None else self.summary_index
        return index if type(index) is int else 0

    @property
    def own_item(self) -> JsonObject:
        """The item that the event brings; {} if it brings none."""
        return read_object(bytes(self.item)) or {}

    @property
    def own_annotation(self) -> JsonObject:
        return read_object(bytes(self.annotation)) or {}

    @property
    def own_response(self) -> JsonObject:
        """The response that the event brings; {} if it brings none."""
        return read_object(bytes(self.response)) or {}


class UsualDelta(Struct, gc=False):
    """A delta as nearly all are. An index that it does not have is 0."""

    output_index: int
    delta: str
    content_index: int = 0
    summary_index: int = 0


_usual: Final = msgspec.json.Decoder(UsualDelta)


def read_delta(data: bytes) -> UsualDelta | None:
    """The delta; None if it is another one than usual."""
    try:
        return _usual.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


_decoder: Final = msgspec.json.Decoder(ResponsesEvent)
_RAW: Final = ("item", "response", "annotation")


def read_event(data: bytes) -> ResponsesEvent | None:
    """The event; None if the data is not a JSON object."""
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = read_object(data)
        return None if value is None else _event_of(value)


def read_events(data: Sequence[bytes]) -> Sequence[ResponsesEvent]:
    """The events of one read, decoded in one call; none at all where one of them cannot be read so."""
    lines = b"\n".join(data)
    try:
        events = _decoder.decode_lines(lines)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ()
    return events if len(events) == len(data) and b"\n" not in b"".join(data) else ()


def _event_of(value: JsonObject) -> ResponsesEvent:
    """The event in an object that the strict decoder refuses: half a character, for instance."""
    known: dict[str, Any] = {name: value[name] for name in ResponsesEvent.__struct_fields__ if name in value}
    known.update({name: Raw(encoded(value[name])) for name in _RAW if name in value})
    return ResponsesEvent(**known)
