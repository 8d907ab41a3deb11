"""A streamed answer: bytes in, as they come, canonical events out.

The stream ends with `[DONE]`, or just ends. An end without a finish reason is a cut, which the client must hear of, unless
`[DONE]` or the backend's row says that it is none. What comes behind the end is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from clew.dialects.failures.bodies import error_in
from clew.dialects.failures.reading import CUT, UNREADABLE, failure_named
from clew.dialects.openai_chat.answer.decoder import Asked, ChatDecoder
from clew.dialects.openai_chat.answer.scribes import EventScribe
from clew.dialects.openai_chat.options import ChatAnswerOptions
from clew.model.events import Event
from clew.model.failure import Failure
from clew.model.json import JsonObject
from clew.model.loose_json import objects_of, read_object, read_value
from clew.wire.sse import OTHER, Frames, SseEvent, SseLimits, read_fields

__all__ = ["ChatStream", "Finish"]

Finish: TypeAlias = Callable[[list[Event]], list[Event]]

_LIMITS = SseLimits()
_ERROR = b"error"
_EVENT = re.compile(rb"data: ([^\n]*+)\n\n|" + OTHER)


class ChatStream:
    """`feed` bytes as they come, `flush` at their end. The events do not depend on where the bytes were cut."""

    def __init__(self, asked: Asked, speech: ChatAnswerOptions | None = None, finish: Finish = list) -> None:
        """The events of each chunk go through `finish` before the next chunk is read."""
        self._speech = speech or ChatAnswerOptions()
        self._scribe = EventScribe()
        self._decoder = ChatDecoder(asked, self._speech, self._scribe)
        self._frames = Frames(_LIMITS)
        self._finish = finish

    def begin(self, *, eager: bool = False) -> list[Event]:
        """The start of the message before the backend has said anything; without it, the first chunk starts it."""
        self._decoder.begin(eager=eager)
        return self._drain()

    def feed(self, data: bytes) -> list[Event]:
        """The events that these bytes complete. Raises SseTooLarge."""
        return self._read(self._frames.feed(data))

    def flush(self) -> list[Event]:
        """The events that the end of the bytes completes."""
        events = self._read(self._frames.flush())
        if self._decoder.finished or self._speech.cut_is_end:
            self._decoder.end()
        else:
            self._decoder.fail(CUT)
        return events + self._drain()

    def _read(self, whole: bytes) -> list[Event]:
        at, events = 0, list[Event]()
        while at < len(whole):
            match = _EVENT.match(whole, at)
            assert match is not None, "frames end with an empty line"
            data, other = match.groups()
            event = SseEvent(b"", data) if other is None else read_fields(other)
            if event is not None and not self._decoder.ended:
                self._take(event.name, event.data.strip())
                events += self._drain()
            at = match.end()
        return events

    def _take(self, name: bytes, data: bytes) -> None:
        """Names are none of this protocol, but that of an error."""
        if name == _ERROR:
            self._decoder.fail(failure_named(data))
        elif data == b"[DONE]":
            self._decoder.end()
        elif (chunk := read_object(data) or _listed(data)) is not None:
            self._decoder.take(chunk)
        elif data and not self._decoder.finished:
            self._decoder.fail(UNREADABLE)

    def _drain(self) -> list[Event]:
        events, self._scribe.told = self._scribe.told, []
        return self._finish(events) if events else events

    @property
    def payloads(self) -> dict[int, JsonObject]:
        """What the backend needs back of each thought, by the index of its block (see `payloads`)."""
        return self._decoder.payloads

    def payload_at(self, index: int) -> JsonObject:
        """The same of one block."""
        return self._decoder.payload_at(index)

    @property
    def late(self) -> JsonObject:
        """A payload that came too late for any block; {} if none did."""
        return self._decoder.late

    @property
    def wire_ids(self) -> dict[str, str]:
        """The ids of calls → the backend's own, where they differ."""
        return self._decoder.wire_ids

    @property
    def failure(self) -> Failure | None:
        """Why the stream failed. If it did before any other event, the client can still get a status."""
        return self._decoder.failure


def _listed(data: bytes) -> JsonObject | None:
    """An error that stands in a list of one (Gemini's)."""
    entries = objects_of(read_value(data)) if data.startswith(b"[") else []
    return entries[0] if len(entries) == 1 and error_in(entries[0]) else None
