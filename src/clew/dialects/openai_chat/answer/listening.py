"""A streamed answer is listened to: bytes in, as they come, and its decoder hears all that has to be read.

What needs no reading passes as bytes for the client (`runs`). The stream ends with `[DONE]`, or just ends. An end without a
finish reason is a cut, which the client must hear of, unless `[DONE]` or the backend's row says that it is none. What comes
behind the end is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from clew.dialects.openai_chat.answer.decoder import Asked, ChatDecoder
from clew.dialects.openai_chat.answer.scribes import Scribe
from clew.dialects.openai_chat.failures.bodies import error_in
from clew.dialects.openai_chat.failures.errors import CUT, UNREADABLE, failure_named
from clew.dialects.openai_chat.shapes import objects_of, read_object, read_value
from clew.dialects.openai_chat.speech import Speech
from clew.dialects.openai_chat.unread.known_moulds import KnownMoulds
from clew.dialects.openai_chat.unread.lines import Lines
from clew.dialects.openai_chat.unread.runs import Runs
from clew.dialects.openai_chat.unread.singles import Singles
from clew.model.json import JsonObject
from clew.wire.frames import Frames, SseLimits
from clew.wire.sse import OTHER, SseEvent, read_fields

__all__ = ["Listening"]

_LIMITS = SseLimits()
_ERROR = b"error"
_EVENT = re.compile(rb"data: ([^\n]*+)\n\n|" + OTHER)


class Listening:
    """One answer. Its scribe has what was told; that does not depend on where the bytes were cut."""

    __slots__ = ("_frames", "_runs", "_speech", "decoder")

    def __init__(self, asked: Asked, speech: Speech, scribe: Scribe, before: KnownMoulds | None = None) -> None:
        """`before`: what is known from answers before this one."""
        self._speech = speech
        self._frames = Frames(_LIMITS)
        self.decoder = ChatDecoder(asked, speech, scribe)
        self._runs = Runs(self.decoder.lanes, before)

    @property
    def singles(self) -> Singles:
        """As `hear`, for an event that needs no reading and comes alone; b"" for all else, which is heard."""
        return self._runs.singles

    def read(self, data: bytes) -> None:
        """All that these bytes complete is read. Raises SseTooLarge."""
        self._read(self._frames.feed(data))

    def hear(self, data: bytes, ran: Callable[[bytes], object], told: Callable[[], object]) -> None:
        """The same, but `ran` gets runs of deltas that need no reading, as the client gets them.

        `told` is called after each chunk that is read, and before the next: what is known then does not depend on cuts.
        """
        whole, at, runs = self._frames.feed(data), 0, self._runs
        read, size = Lines(whole), len(whole)
        while at < size:
            run, at = runs.take(read, at)
            if run:
                ran(run)
            else:
                at = self._hear_word(whole, at) or self._read_one(whole, at)
                told()
        runs.come_alone(clean=self._frames.is_clean)

    def end(self) -> None:
        """No more bytes come: read what is left, and end the answer, or fail it if it was cut off."""
        self._read(self._frames.flush())
        self._runs.singles.settle()
        if self.decoder.finished or self._speech.cut_is_end:
            self.decoder.end()
        else:
            self.decoder.fail(CUT)

    def _hear_word(self, whole: bytes, at: int) -> int:
        """Hears the event that begins here, if at most its word has to be read, and says where it ends; else 0."""
        if self.decoder.ended:
            return 0
        word = self._runs.word_at(whole, at)
        if word is None:
            return self._hear_opening(whole, at)
        self._runs.singles.settle()
        self.decoder.hear(word.mould.member, word.text)
        self._runs.go_on(word.mould)
        return word.end

    def _hear_opening(self, whole: bytes, at: int) -> int:
        """The same for a first event that says nothing."""
        end = 0 if self._speech.empty_counts else self._runs.opening_at(whole, at)
        if end:
            self.decoder.begin()
        return end

    def _read(self, whole: bytes) -> None:
        at = 0
        while at < len(whole):
            at = self._read_one(whole, at)

    def _read_one(self, whole: bytes, at: int) -> int:
        """Reads the event that begins here; where it ends."""
        match = _EVENT.match(whole, at)
        assert match is not None, "frames end with an empty line"
        data, other = match.groups()
        event = SseEvent(b"", data) if other is None else read_fields(other)
        if event is not None and not self.decoder.ended:
            self._runs.singles.settle()
            self._learn(match[0], self._take(event.name, event.data.strip()))
        return match.end()

    def _learn(self, raw: bytes, chunk: JsonObject | None) -> None:
        """From an event that was read, and what was in it, how to go on. Near the end there is nothing to learn."""
        if chunk is None or self.decoder.finished:
            self._runs.halt()
        else:
            self._runs.learn(raw, chunk)

    def _take(self, name: bytes, data: bytes) -> JsonObject | None:
        """The chunk that was in the data, if one was. Names are none of this protocol, but that of an error."""
        chunk = None
        if name == _ERROR:
            self.decoder.fail(failure_named(data))
        elif data == b"[DONE]":
            self.decoder.end()
        elif (chunk := read_object(data) or _listed(data)) is not None:
            self.decoder.take(chunk)
        elif data and not self.decoder.finished:
            self.decoder.fail(UNREADABLE)
        return chunk


def _listed(data: bytes) -> JsonObject | None:
    """An error that stands in a list of one (Gemini's)."""
    entries = objects_of(read_value(data)) if data.startswith(b"[") else []
    return entries[0] if len(entries) == 1 and error_in(entries[0]) else None
