"""Streamed answers: read from backends, bytes in as they come, canonical events out.

A stream ends with `[DONE]`, or just ends. An end without a finish reason is a cut, which the client must hear of, unless
`[DONE]` or the backend's options say that it is none. What comes behind the end is ignored.
"""

from __future__ import annotations

import re
from typing import Final

from clew.dialects.failures.reading import CUT, UNREADABLE, failure_in, failure_named
from clew.dialects.openai_chat.options import ChatOptions
from clew.dialects.openai_chat.payloads import late_block
from clew.dialects.openai_chat.stream_calls import ToolIds
from clew.dialects.openai_chat.stream_chunks import read_chunk, read_whole
from clew.dialects.openai_chat.stream_decoder import AnswerDecoder
from clew.dialects.shape import AnswerContext
from clew.model.events import Event
from clew.model.json import JsonObject
from clew.wire.sse import OTHER, Frames, SseLimits, read_fields

__all__ = ["ChatStreamReader"]

_LIMITS: Final = SseLimits()
_EVENT: Final = re.compile(OTHER)


class ChatStreamReader:
    """`feed` bytes as they come, `flush` at their end. The events do not depend on where the bytes were cut."""

    def __init__(self, context: AnswerContext, options: ChatOptions) -> None:
        self._eager = context.eager
        self._cut_is_end = options.answer.cut_is_end
        self._decoder = AnswerDecoder(context, options.answer)
        self._frames = Frames(_LIMITS)

    @property
    def late(self) -> JsonObject | None:
        """A thinking block without words for what came too late for the client, if anything did."""
        return late_block(self._decoder.late)

    @property
    def ids(self) -> ToolIds:
        """The ids that the calls got."""
        return self._decoder.ids

    def begin(self) -> list[Event]:
        """With an eager context: the start of the message and an empty text block, before the backend has said anything."""
        if self._eager:
            self._decoder.begin(eager=True)
        return self._decoder.take_events()

    def feed(self, data: bytes) -> list[Event]:
        """The events that these bytes complete. Raises SseTooLarge, AnswerTooLarge."""
        return self._read(self._frames.feed(data))

    def flush(self) -> list[Event]:
        """The events that the end of the bytes completes."""
        events = self._read(self._frames.flush())
        if self._decoder.finished or self._cut_is_end:
            self._decoder.end()
        else:
            self._decoder.fail(CUT)
        return events + self._decoder.take_events()

    def _read(self, whole: bytes) -> list[Event]:
        """Reads whole events, each by itself: what one of them says must not depend on those that came with it."""
        decoder, at, events = self._decoder, 0, list[Event]()
        while at < len(whole) and not decoder.ended:
            line_end = whole.find(b"\n", at)
            if whole.startswith(b"data: ", at) and whole.startswith(b"\n", line_end + 1):  # one line, as nearly always
                self._take(whole[at + 6 : line_end].strip())
                at = line_end + 2
            else:
                at = self._read_lines(whole, at)
            events += decoder.take_events()
        return events

    def _read_lines(self, whole: bytes, at: int) -> int:
        """Reads an event of any other form; where it ends."""
        match = _EVENT.match(whole, at)
        assert match is not None, "frames end with an empty line"
        event = read_fields(match[0])
        if event is not None and event.name == b"error":  # names are none of this protocol, but that of an error
            self._decoder.fail(failure_named(event.data.strip()))
        elif event is not None:
            self._take(event.data.strip())
        return match.end()

    def _take(self, data: bytes) -> None:
        decoder = self._decoder
        if data == b"[DONE]":
            decoder.end()
        elif (chunk := read_chunk(data)) is None:
            if data and not decoder.finished:
                decoder.fail(UNREADABLE)
        elif chunk.may_be_error and (failure := failure_in(read_whole(data) or {})) is not None:
            decoder.fail(failure)
        else:
            decoder.take(chunk)
