"""A streamed answer: bytes in, canonical events out; or the bytes for the client, where events need no reading (`runs`).

The stream ends with `[DONE]`, or just ends. An end without a finish reason is a cut, which the client must hear of, unless
`[DONE]` or the backend's row says that it is none. What comes behind the end is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from clew.dialects.openai_chat.decoder import Asked, ChatDecoder
from clew.dialects.openai_chat.error_bodies import error_in
from clew.dialects.openai_chat.errors import CUT, UNREADABLE, Failure
from clew.dialects.openai_chat.runs import Runs
from clew.dialects.openai_chat.shapes import objects_of, read_object, read_value
from clew.dialects.openai_chat.singles import TakeOne, nothing
from clew.dialects.openai_chat.speech import Speech
from clew.model.events import Event
from clew.model.json import JsonObject
from clew.wire.frames import Frames, SseLimits
from clew.wire.sse import OTHER, read_fields

__all__ = ["ChatStream", "Told"]

Told: TypeAlias = Event | bytes
"""An event, or a run of deltas of the open block, as bytes for the client."""
Finish: TypeAlias = Callable[[list[Event]], list[Event]]

_LIMITS = SseLimits()
_EVENT = re.compile(rb"data: ([^\n]*+)\n\n|" + OTHER)


class ChatStream:
    """`feed` bytes as they come, `flush` at their end. The events do not depend on where the bytes were cut."""

    def __init__(self, asked: Asked, speech: Speech | None = None) -> None:
        self._speech = speech or Speech()
        self._frames = Frames(_LIMITS)
        self._decoder = ChatDecoder(asked, self._speech)
        self._runs = Runs(self._decoder.lanes)
        self.take_one: TakeOne = nothing
        """As `tell`, for an event that needs no reading and comes alone; b"" for all else, which is told. Until then."""

    def begin(self, *, eager: bool = False) -> list[Event]:
        """The start of the message before the backend has said anything; without it, the first chunk starts it."""
        self._decoder.begin(eager=eager)
        return self._decoder.drain()

    def feed(self, data: bytes) -> list[Event]:
        """The events that these bytes complete. Raises SseTooLarge."""
        self._read(self._frames.feed(data))
        return self._decoder.drain()

    def tell(self, data: bytes, finish: Finish) -> list[Told]:
        """The same, with runs of deltas that need no reading as the client gets them.

        The events of each chunk go through `finish` before the next is read: what is known then does not depend on cuts.
        """
        whole = self._frames.feed(data)
        told: list[Told] = []
        at = 0
        while at < len(whole):
            run, end = self._runs.take(whole, at)
            if run:
                told.append(run)
            else:
                end = self._read_one(whole, at)
                told += finish(self._decoder.drain())
            at = end
        self.take_one = self._runs.take_one if self._frames.is_clean else nothing
        return told

    def flush(self) -> list[Event]:
        """The events that the end of the bytes completes."""
        self._read(self._frames.flush())
        self._runs.settle()
        if self._decoder.finished or self._speech.cut_is_end:
            self._decoder.end()
        else:
            self._decoder.fail(CUT)
        return self._decoder.drain()

    @property
    def payloads(self) -> dict[int, JsonObject]:
        """What the backend needs back of each thought, by the index of its block (see `payloads`)."""
        return self._decoder.payloads

    def thoughts(self) -> Callable[[int], str]:
        """From now on it is kept what a thinking block says, until it is asked for by the block's index."""
        return self._decoder.thoughts().pop

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

    @property
    def cut(self) -> int | None:
        """The block that was open when the stream failed."""
        return self._decoder.cut

    def _read(self, whole: bytes) -> None:
        at = 0
        while at < len(whole):
            at = self._read_one(whole, at)

    def _read_one(self, whole: bytes, at: int) -> int:
        """Reads the event that begins here; where it ends."""
        match = _EVENT.match(whole, at)
        assert match is not None, "frames end with an empty line"
        data, other = match.groups()
        if other is not None:
            event = read_fields(other)
            data = event.data if event else None
        if data is not None and not self._decoder.ended:
            self._runs.settle()
            self._runs.learn(match[0], self._take(data.strip()))
        return match.end()

    def _take(self, data: bytes) -> JsonObject | None:
        """The chunk that was in the data, if one was."""
        chunk = None
        if data == b"[DONE]":
            self._decoder.end()
        elif (chunk := read_object(data) or _listed(data)) is not None:
            self._decoder.take(chunk)
        elif data and not self._decoder.finished:
            self._decoder.fail(UNREADABLE)
        return chunk


def _listed(data: bytes) -> JsonObject | None:
    """An error that stands in a list of one (Gemini's)."""
    entries = objects_of(read_value(data)) if data.startswith(b"[") else []
    return entries[0] if len(entries) == 1 and error_in(entries[0]) else None
