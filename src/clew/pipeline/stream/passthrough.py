"""PassedAnswer: a stream whose bytes pass, because client and backend speak the same dialect.

Somebody reads along: runs of deltas pass unopened, every other event is read, and only what must change is replaced. The
runs wait until another event comes, or until there are many: then they are decoded in one call and joined, so that an answer
of three hundred events costs a few dozen steps.
"""

from __future__ import annotations

from typing import Final

from clew.dialects.optional import Passthrough
from clew.errors import StreamIllegal
from clew.model.assemble import Assembler
from clew.model.events import BLOCK_EVENTS, Event, MessageStart, StreamFailed
from clew.pipeline.stream.answer import AnswerSoFar, answer_of
from clew.pipeline.stream.answer_stream import AnswerStream
from clew.pipeline.stream.client_view import ClientView, lacks_usage, without_secret
from clew.wire.sse import Frames, SseEvent, SseLimits
from clew.wire.sse_runs import PassChunk, body_of, pieces_of

_LIMITS = SseLimits()
_MOST_RUNS: Final = 512
_MOST_BYTES: Final = 64 * 1024
"""So many runs, or so much of them, wait to be read: a run may be one delta, with twenty times the bytes of its text."""


class PassedAnswer(AnswerStream):
    """One answer."""

    __slots__ = (
        "_fits",
        "_frames",
        "_is_usual",
        "_keeps_blocks",
        "_most",
        "_notes_runs",
        "_pattern",
        "_rules",
        "_runs",
        "_runs_size",
    )

    def __init__(
        self, view: ClientView, rules: Passthrough, limits: SseLimits = _LIMITS, *, keep: bool = True, blocks: bool = True
    ) -> None:
        super().__init__(view, rules.read_run, keep=keep, blocks=blocks)
        self._rules = rules
        self._frames = Frames(limits)
        self._most = limits.line
        foreign = rules.no_runs if view.options.hide else rules.unsigned_runs
        self._pattern = rules.all_runs if view.options.is_plain else foreign
        self._fits = self._pattern.fits
        self._is_usual = False
        """Deltas of the open block may come, and no bytes of an event are waited for."""
        self._notes_runs = keep or blocks or self._sealed is not None
        self._keeps_blocks = blocks
        self._runs: list[bytes] = []
        """Deltas of the open block that passed and were not read yet."""
        self._runs_size = 0

    def feed(self, data: bytes) -> bytes:
        """Most reads are deltas of the open block, and nothing else. Written in one piece: every read goes through it."""
        size = len(data)
        if not (self._is_usual and size <= self._most and self._fits(data) and b"\r" not in data):
            new = self._pass(self._frames.feed(data))
            self._is_usual = self._frames.is_clean and self._order.is_open and self.begun and not self._is_ending
            return new
        self.size += size
        if self._notes_runs:
            if self._keeps_raw:
                self._raw.append(data)
            self._note_run(data)
        return data

    def flush(self) -> bytes:
        return self._pass(self._frames.flush())

    @property
    def pass_chunk(self) -> PassChunk | None:
        """Where nothing is noted, no bytes are counted."""
        if not self._is_usual:
            return None
        return self._pass_noted if self._notes_runs else self._pattern.pass_chunk

    def _pass_noted(self, chunk: bytes, size: int) -> bytes:
        if not self._pattern.pass_chunk(chunk, size):
            return b""
        data = body_of(chunk)
        self.size += len(data)
        if self._keeps_raw:
            self._raw.append(data)
        self._note_run(data)
        return chunk

    def _note_run(self, run: bytes) -> None:
        if self._keeps_blocks:
            self._runs.append(run)
            self._runs_size += len(run)
            if len(self._runs) >= _MOST_RUNS or self._runs_size >= _MOST_BYTES:
                self._settle()
        if self._uncounted is not None:
            self._uncounted.note(self._rules.read_run(run))
        if self._sealed is not None:
            self._sealed.note_run(run)

    def _settle(self) -> None:
        """Neighbouring runs are one: each was a read, and may have held a single event."""
        if self._illegal is not None:
            raise self._illegal
        if self._runs:
            try:
                _read_run(b"".join(self._runs), self._assembler, self._rules)
            except StreamIllegal as error:
                self._illegal = error
                raise
            self._runs, self._runs_size = [], 0

    def _pass(self, whole: bytes) -> bytes:
        if not whole:
            return b""
        self.size += len(whole)
        if self._keeps_raw:
            self._raw.append(whole)
        out: list[bytes] = []
        for piece in pieces_of(whole, self._pattern):
            raw = piece.raw
            if piece.is_run:
                if not self._order.is_open:
                    raise StreamIllegal("a delta came while no block was open", state=self._order.state.name)
                self._note_run(raw)
            elif piece.event is not None:  # and not a comment
                event, raw = self._for_client(self._rules.read_event(piece.event), piece.event, raw)
                if self._runs:
                    self._settle()
                self._take(event)
                if self._sealed is not None and isinstance(event, BLOCK_EVENTS):
                    raw = b"".join(
                        [raw if each is event else self._rules.write_event(each) for each in self._sealed.feed(event)]
                    )
            self._place(raw, out)
        return out[0] if len(out) == 1 else b"".join(out)

    def _for_client(self, event: Event, sse: SseEvent, raw: bytes) -> tuple[Event, bytes]:
        """The event and its bytes, without a secret in the words of an error, and with what clients rely on: the name of
        the model that they asked for, and usage."""
        model = self._view.options.model
        if isinstance(event, MessageStart) and event.message.get("model") != model:
            raw = self._rules.rename_start(raw, sse, model)
        if isinstance(event, StreamFailed):
            # An error that was not in the dialect's own shape has no bytes that clients could read.
            told = raw if event.raw else self._rules.write_event(event)
            return without_secret(event, told, self._view.options.secret)
        if lacks_usage(event):
            raw = self._rules.fill_usage(event, raw, model, self._usage_for(event))
            self._notes_runs = True
        return event, raw


def answer_of_stream(raw: bytes, rules: Passthrough) -> AnswerSoFar:
    """What a whole stream tells, as it came from the maker."""
    assembler = Assembler()
    try:
        for piece in pieces_of(raw, rules.all_runs):
            if piece.is_run:
                _read_run(piece.raw, assembler, rules)
            elif piece.event is not None:
                assembler.take(rules.read_event(piece.event))
    except StreamIllegal as error:
        return answer_of(assembler, error)
    return answer_of(assembler)


def _read_run(run: bytes, assembler: Assembler, rules: Passthrough) -> None:
    for block, delta, raw in rules.join_run(run):
        if delta is not None:
            assembler.grow(block, delta)
        else:
            for event in rules.read_run(raw):
                assembler.take(event)
