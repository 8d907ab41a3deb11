"""Reads along with a stream of the Anthropic dialect that is relayed as bytes.

A relay must see the few events that say something about thinking, block ends, usage and failures; nine events of ten
are a few characters of text, which it need not open. `Watch` hands out all events but those: an event is passed over
only if its bytes begin exactly as a text or tool-input delta (or a ping) does, so an unusual spelling is never missed,
only slower.

The expression swallows whole runs of dull events inside one match; what is left over is what the reader would have
given. Thinking is then read for a whole batch in one call of the JSON decoder.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from clew.errors import StreamIllegal
from clew.wire.frames import Frames, SseLimits
from clew.wire.sse import OTHER, USUAL, SseEvent, read_fields

__all__ = ["Thought", "Watch", "thoughts"]

_DULL_DELTA = (
    rb'content_block_delta\ndata: \{"type":"content_block_delta","index":\d++,"delta":\{"type":"(?:text|input_json)_delta"'
)
_DULL = rb"event: (?:" + _DULL_DELTA + rb"|ping\ndata: )[^\n]*+\n\n"
_WORTH_READING = re.compile(b"(?:" + _DULL + b")*+(?:" + USUAL + b"|" + OTHER + rb"|\Z)")

_DELTA = b"content_block_delta"


class Watch:
    """As `SseReader`, without text deltas, tool-input deltas and pings in their usual spelling."""

    __slots__ = ("_frames",)

    def __init__(self, limits: SseLimits | None = None) -> None:
        self._frames = Frames(limits or SseLimits())

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events worth reading that this chunk completes. Raises SseTooLarge."""
        return _worth_reading(self._frames.feed(chunk))

    def flush(self) -> list[SseEvent]:
        return _worth_reading(self._frames.flush())


def _worth_reading(whole: bytes) -> list[SseEvent]:
    events: list[SseEvent] = []
    if not whole:
        return events
    for name, data, other in _WORTH_READING.findall(whole):
        if name:
            events.append(SseEvent(name, data))
        elif other and (event := read_fields(other)) is not None:
            events.append(event)
    return events


class _Thinking(msgspec.Struct, frozen=True):
    thinking: str | None = None
    signature: str | None = None


class Thought(msgspec.Struct, frozen=True):
    """What one delta adds to a thinking block: some text, or the signature. Neither, for a delta of another kind."""

    index: int = -1
    delta: _Thinking = _Thinking()


_many = msgspec.json.Decoder(list[Thought])


def thoughts(events: Sequence[SseEvent]) -> list[Thought]:
    """The thinking and signature deltas among the events, in order. Raises StreamIllegal for data that is no JSON."""
    deltas = [event.data for event in events if event.name == _DELTA]
    try:
        found = _many.decode(b"[" + b",".join(deltas) + b"]")
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise StreamIllegal(f"a delta's data cannot be read: {error}", event="content_block_delta") from None
    if len(found) != len(deltas):
        raise StreamIllegal("a delta's data holds more than one JSON value", event="content_block_delta")
    return [thought for thought in found if thought.delta.thinking is not None or thought.delta.signature is not None]
