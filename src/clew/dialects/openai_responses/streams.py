"""Streamed answers of backends: bytes to canonical events.

A stream ends with `response.completed`, `response.incomplete` or `response.failed`, or with an `error`. Some servers send
`[DONE]` behind that. An end without any of them is a cut, which the client must hear of, unless the backend's options say
that it is none. What comes behind the end is ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from operator import attrgetter
from typing import Final

from clew.dialects.failures.reading import CUT, UNREADABLE, failure_in, failure_named
from clew.dialects.openai_responses.options import ResponsesOptions
from clew.dialects.openai_responses.stream_decoder import ResponseDecoder
from clew.dialects.openai_responses.stream_events import TEXT_DELTAS, ResponsesEvent, read_delta, read_event, read_events
from clew.dialects.shape import AnswerContext
from clew.model.events import BlockDelta, Event
from clew.model.json import JsonObject, read_object
from clew.wire.sse import SseEvent, SseReader

_ERROR: Final = "error"
_DONE: Final = b"[DONE]"
_LONGEST: Final = 64 * 1024
"""Bytes of a delta as usual."""
_TEXT: Final = attrgetter("type", "output_index", "content_index", "summary_index")
"""What deltas of one text have in common."""
_DELTA: Final = attrgetter("delta")
_DATA: Final = attrgetter("data")


@lru_cache(maxsize=16)
def _head_of(kind: str) -> bytes:
    """How an event of this type begins, as every vendor writes it."""
    name = kind.encode()
    return b'event: %b\ndata: {"type":"%b",' % (name, name)


class ResponsesStreamReader:
    """`feed` bytes as they come, `flush` at their end. Texts of one block that come in one read are one delta."""

    late: JsonObject | None = None
    __slots__ = ("_cut_is_end", "_decoder", "_eager", "_head", "_part", "_sse")

    def __init__(self, context: AnswerContext, options: ResponsesOptions) -> None:
        self._eager = context.eager
        self._cut_is_end = options.cut_is_end
        self._decoder = ResponseDecoder(context, options)
        self._sse = SseReader()
        self._head = b""  # of an event by which the open block grows, where the next bytes begin with an event
        self._part = 0

    def begin(self) -> list[Event]:
        """With an eager context: the start of the message and an empty text block, before the backend has said anything."""
        if self._eager:
            self._decoder.begin(eager=True)
        return self._decoder.take_events()

    def feed(self, data: bytes) -> Sequence[Event]:
        """The events that these bytes complete. Raises SseTooLarge, AnswerTooLarge."""
        if self._head and (told := self._read_delta(data)) is not None:
            return (told,)
        self._read(self._sse.feed(data))
        events = self._decoder.take_events()
        kind, self._part = self._decoder.grows_by
        self._head = _head_of(kind) if kind and self._sse.is_clean else b""
        return events

    def _read_delta(self, data: bytes) -> Event | None:
        """Most reads are one delta of the open block, and nothing else; None if this one is not."""
        head = self._head
        if not (data.startswith(head) and data.find(b"\n", len(head)) == len(data) - 2 and data.endswith(b"\n\n")):
            return None
        if b"\r" in data or len(data) > _LONGEST or (delta := read_delta(data[data.index(b"{") : -2])) is None:
            return None
        return self._decoder.take_delta(delta, self._part)

    @property
    def grows_by(self) -> tuple[str, int]:
        """The type of the events by which the open block grows, and the part that they are about; "" if the next bytes do
        not begin with an event, or no block is open."""
        return (self._decoder.grows_by[0], self._part) if self._head else ("", 0)

    @property
    def place(self) -> int | None:
        """That of the open item, as the backend counts; None if there is none, or it counts in another way."""
        return self._decoder.place

    def tell_more(self, text: str) -> BlockDelta:
        """More of the open block, which counts as read."""
        return self._decoder.tell_more(text)

    def flush(self) -> list[Event]:
        """The events that the end of the bytes completes."""
        self._read(self._sse.flush())
        if self._cut_is_end:
            self._decoder.end({})
        else:
            self._decoder.fail(CUT)
        return self._decoder.take_events()

    def _read(self, sse: list[SseEvent]) -> None:
        """Deltas of one text that follow each other are taken as one."""
        at, events = 0, read_events(list(map(_DATA, sse))) if len(sse) > 1 else ()
        for (kind, *_), group in groupby(events, _TEXT):
            alike = list(group)
            is_text = len(alike) > 1 and type(kind) is str and kind in TEXT_DELTAS
            if not is_text or not self._take_text(alike):
                for place, event in enumerate(alike, at):
                    self._take(sse[place], event)
            at += len(alike)
        for each in sse[at:]:
            self._take(each, read_event(each.data))

    def _take_text(self, deltas: Sequence[ResponsesEvent]) -> bool:
        """Whether they could be joined."""
        try:
            deltas[0].delta = "".join(map(_DELTA, deltas))
        except TypeError:
            return False
        if not self._decoder.ended:
            self._decoder.take(deltas[0])
        return True

    def _take(self, sse: SseEvent, event: ResponsesEvent | None) -> None:
        decoder = self._decoder
        if decoder.ended:
            return
        if event is None:
            if sse.data.strip() not in (_DONE, b""):
                decoder.fail(UNREADABLE)
            return
        if type(event.type) is not str:
            event.type = sse.name.decode("latin-1")
            if not event.type and (failure := failure_in(read_object(sse.data) or {})) is not None:
                decoder.fail(failure)
                return
        if event.type == _ERROR:
            decoder.fail(failure_named(sse.data))
        else:
            decoder.take(event, sse.data)
