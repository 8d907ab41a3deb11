"""Ways to hear an answer by rote: in one piece, as a stream that a store gets or nobody keeps, and in another dialect."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final

from msgspec.structs import replace

from clew.engine.asking import asking_of
from clew.engine.call import Call
from clew.engine.dialects import KEEP, NO_HINTS, UNSAID, Hints
from clew.engine.express import Begun
from clew.engine.heads import with_answer
from clew.engine.hearing import JSON, LIMITS, StreamHearing, comes_as
from clew.engine.in_one_piece import InOnePiece
from clew.engine.keeping import FIRST_FLUSH
from clew.engine.over import Over
from clew.engine.parts import Parts
from clew.engine.passing import Passing
from clew.engine.question import question_in
from clew.engine.rote import Rote, form_for, going_out
from clew.engine.rote_told import Passed, request_id_in, turn_of
from clew.engine.streaming import Streaming
from clew.engine.token_learning import learn
from clew.engine.turns import Heard
from clew.http.client_message import ResponseHead
from clew.http.client_mould import Mould
from clew.http.client_whole import read_at_once
from clew.http.responder import Responder, lines_of
from clew.model.request import Request
from clew.pipeline.stream.answer import answer_of_message
from clew.pipeline.stream.dress import Dress
from clew.pipeline.stream.rename import renamed
from clew.settings.values import Settings
from clew.store import Store
from clew.store.outcome import problem_of, when_over
from clew.store.values import Bodies, Turn
from clew.upstream.reply import Reply

__all__ = ["by_rote"]

MOST_MOULDS: Final = 3
"""For each form. A backend has one or two kinds of heads; one that has more is read as it comes."""
_JSON_LINE: Final = b"content-type: application/json\r\n"


def by_rote(parts: Parts, call: Call, body: bytes, client: Responder) -> bool:
    """Whether it is under way: a call with the head of one that was seen before, and this body."""
    form = form_for(parts, call, body)
    if form is None:
        return False
    question = question_in(body[form.messages], alone=form.translates)
    if not question:
        return False
    pool = parts.pool
    now = pool.now()
    on = pool.take(form.shelf, now)
    if on is None:
        return False
    if parts.store is not None:
        kind = RoteKept if form.streams else RoteWhole
    else:
        kind = RoteWhole if not form.streams else RoteTranslated if form.translates else RoteStream
    kind(parts, call, form, body, client, on).begin(question, now)
    return True


class RoteWhole(Rote, InOnePiece):
    """An answer in one piece."""

    __slots__ = ("_question",)

    def begin(self, question: str, now: float) -> None:
        form, self._question = self._form, question
        self._on.lend(self, form.request, going_out(form, self._body, question), form.way.patience, LIMITS, now)

    def came(self, data: bytes) -> bool:
        for mould in self._form.moulds:
            if (found := mould.read(data)) is not None:
                values, raw = found
                return self._is_heard_as(raw, None, mould.lines % values, mould.value_of(b"request-id", values))
        whole = read_at_once(data, LIMITS)
        if whole is None or not comes_as(whole.head, JSON) or not self._is_taken(whole.head, whole.body):
            return False
        self._learn(whole.head, data[: len(data) - len(whole.body)])
        return True

    def _learn(self, head: ResponseHead, raw: bytes) -> None:
        """How the heads of such answers look. Where bodies are kept, so is all of a head, and it has to be read."""
        form = self._form
        keeps_heads = self._parts.store is not None and form.snapshot.settings.store.bodies != "off"
        if not keeps_heads and len(form.moulds) < MOST_MOULDS:
            wanted = [name.encode("latin-1") for name, _ in form.way.dialect.passed(head.headers, self._started)]
            form.moulds.append(Mould(raw, wanted))

    def news(self) -> None:
        try:
            self._whole_comes()
        except Exception as error:  # else it would be lost on the loop, and the client would wait for ever
            self.fail(error)

    def _is_taken(self, head: ResponseHead, raw: bytes) -> bool:
        passed = self._form.way.dialect.passed(head.headers, self._started)
        return self._is_heard_as(raw, head, lines_of(passed).encode("latin-1"), request_id_in(passed))

    def _is_heard_as(self, raw: bytes, head: ResponseHead | None, lines: bytes, request_id: str) -> bool:
        """`lines` is what of its head goes to the client; `head` all of it, where that is kept."""
        message = self._form.way.dialect.message(raw, NO_HINTS, "messages")
        if not isinstance(message, dict):
            return False
        form, parts, get = self._form, self._parts, message.get
        seconds = parts.clock() - self._began
        over = Over(form.told, self._id, self._started, parts.wall(), seconds, get("usage"), get("stop_reason"), request_id)
        try:
            shown = raw if get("model") == form.model else renamed(raw, form.model)
            if parts.store is not None:
                blocks, bodies = answer_of_message(message).blocks, self._bodies(head, raw)
                turn = turn_of(form, over, self._question, self._body[form.messages], blocks, bodies)
                self._keep(parts.store, turn, lines, shown)
            else:
                self._send(lines, shown)
                parts.telling.note(over)
                self._give_back()
                self._client.release()
        except Exception as error:
            self.fail(error)
        return True

    def _send(self, lines: bytes, shown: bytes) -> None:
        own = (_JSON_LINE, lines, b"x-clew-exchange: ", self._id.encode(), b"\r\n", self._form.lines)
        self._client.send_lines(200, own, shown)

    # With a store.

    def _bodies(self, head: ResponseHead | None, raw: bytes) -> Bodies | None:
        form = self._form
        if head is None or form.snapshot.settings.store.bodies == "off":
            return None
        sent = going_out(form, self._body, self._question)
        return Bodies(asked=self._body, sent=sent, answered=raw, heads=with_answer(form.heads, head))

    def _keep(self, store: Store, turn: Turn, lines: bytes, shown: bytes) -> None:
        """The turn is kept, then the answer goes out (law 8)."""
        self._give_back()
        write, parts = store.record(turn), self._parts
        when_over(write, parts.commit_seconds, lambda: self._kept(write, turn, lines, shown))

    def _kept(self, write: Future[bool], turn: Turn, lines: bytes, shown: bytes) -> None:
        """The store has it, or cannot have it in time."""
        parts = self._parts
        try:
            if (problem := problem_of(write, parts.commit_seconds)) is not None:
                parts.unrecorded(self._id, problem)
            self._send(lines, shown)
            parts.telling.note((turn.exchange, turn.recording))
        except Exception as error:
            self.fail(error)
        else:
            self._client.release()


class RoteStream(Rote, Streaming):
    """A streamed answer."""

    _hearing: StreamHearing | None = None
    _passed: Passed
    _opened_at: float | None = None
    _first_at = 0.0
    _size: int
    """The bytes that went out."""

    def begin(self, question: str, now: float) -> None:
        form, self._passed = self._form, []
        going = going_out(form, self._body, question)
        self._size = len(going)
        self._passing = passing = Passing(self._client, self, form.snapshot.settings.gateway.ping_seconds)
        self._on.begin(form.request, form.way.patience, LIMITS, began=now, body=going)
        passing.watch_silence(self)
        self._listen()

    def headers(self) -> Passed:
        return [*self._passed, ("x-clew-exchange", self._id), *self._form.who]

    def _heard_of(self, head: ResponseHead, passing: Passing) -> StreamHearing:
        form, hints, self._opened_at = self._form, self._hints(), self._on.heard_at
        self._passed = form.way.dialect.passed(head.headers, self._started)
        return StreamHearing(
            self._dress(),
            form.way.dialect,
            hints,
            passing,
            _unsettled,
            first_content=form.snapshot.settings.first_content_seconds,
            since=self._opened_at,
            blocks=hints.blocks,
        )

    def _dress(self) -> Dress:
        return Dress(self._form.wear)

    def _hints(self) -> Hints:
        return UNSAID

    def _stream_begins(self) -> None:
        self._first_at = self._parts.clock()

    def _reply(self, head: ResponseHead) -> Reply:
        return Reply(self._form.endpoint, self._on, head)

    def _settings(self) -> Settings:
        return self._form.snapshot.settings

    def _is_told(self, heard: Heard, tell: Callable[[], None]) -> None:
        over = self._over(heard)
        tell()
        self._parts.telling.note(over)
        self._give_back()
        self._client.release()
        self._forget()

    def _over(self, heard: Heard) -> Over:
        told, ended, answer, seconds = (
            self._form.told,
            self._parts.wall(),
            heard.answer,
            round(self._first_at - self._began, 6),
        )
        stop_reason, called = answer.message.get("stop_reason"), request_id_in(self._passed)
        return Over(told, self._id, self._started, ended, seconds, answer.usage, stop_reason, called)

    def _begun(self) -> Begun:
        return (
            super()
            ._begun()
            ._replace(passing=self._passing, hearing=self._hearing, opened_at=self._opened_at, first_at=self._first_at)
        )


class RoteKept(RoteStream):
    """A streamed answer that a store gets before its end is told (law 8)."""

    _question: str
    _timer: asyncio.TimerHandle | None = None

    def begin(self, question: str, now: float) -> None:
        self._question = question
        super().begin(question, now)

    def _hints(self) -> Hints:
        return KEEP if self._keeps_bodies else NO_HINTS

    @property
    def _keeps_bodies(self) -> bool:
        return self._form.snapshot.settings.store.bodies != "off"

    def _stream_goes_on(self) -> None:
        super()._stream_goes_on()
        if self._client.holder is self and not self._is_heard:
            self._timer = asyncio.get_running_loop().call_later(FIRST_FLUSH, self._lasts)

    def _lasts(self) -> None:
        """It is not over yet: from now on it is kept while it comes, as others are."""
        self._timer = None
        self._express().go_on_streaming()

    def _end_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _begun(self) -> Begun:
        self._end_timer()
        return super()._begun()

    def _is_told(self, heard: Heard, tell: Callable[[], None]) -> None:
        self._end_timer()
        form, blocks = self._form, heard.answer.blocks
        turn = turn_of(form, self._over(heard), self._question, self._body[form.messages], blocks, self._bodies())
        self._give_back()
        parts = self._parts
        assert parts.store is not None
        write = parts.store.record(turn)
        when_over(write, parts.commit_seconds, lambda: self._kept(write, turn, tell))

    def _bodies(self) -> Bodies | None:
        form, head, hearing = self._form, self._on.heard, self._hearing
        if not self._keeps_bodies or head is None or hearing is None:
            return None
        sent = going_out(form, self._body, self._question)
        return Bodies(asked=self._body, sent=sent, answered=hearing.raw, heads=with_answer(form.heads, head))

    def _kept(self, write: Future[bool], turn: Turn, tell: Callable[[], None]) -> None:
        """The store has it, or cannot have it in time."""
        parts = self._parts
        try:
            if (problem := problem_of(write, parts.commit_seconds)) is not None:
                parts.unrecorded(self._id, problem)
            tell()
            parts.telling.note((turn.exchange, turn.recording))
        except Exception as error:
            self.fail(error)
        else:
            self._client.release()
            self._forget()


class RoteTranslated(RoteStream):
    """A streamed answer in another dialect."""

    def _dress(self) -> Dress:
        return Dress(replace(self._form.wear, exchange=self._id))

    def _hints(self) -> Hints:
        way = self._form.way
        about = self._parts.token_counts.about(way.backend.name, way.target.model, self._size)
        return replace(self._form.hints, exchange=self._id, input_tokens=about)

    def _is_told(self, heard: Heard, tell: Callable[[], None]) -> None:
        learn(self._parts.token_counts, self._form.way, self._size, heard.answer.usage, self._going)
        super()._is_told(heard, tell)

    def _going(self) -> Request:
        """What went out, before it was translated."""
        form = self._form
        asking = asking_of(self._call.with_body(self._body), form.snapshot, None, self._id)
        return form.way.projector.project(asking.request, asking.facts).request


async def _unsettled(heard: Heard) -> None:
    """Nobody waits for the store here; whoever takes over says what is to be kept."""
    raise AssertionError("the exchange was not taken over")
