"""Streams by rote: one that nobody keeps, one that a store gets, and one in another dialect.

On a connection that rests such a stream is under way at once. Where none rests and nobody keeps it, a new one is dialled
first, in a task, and nothing else is made for it: a thousand streams that begin in one moment all dial, and stay for long.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Literal

from msgspec.structs import replace

from clew.dialects.openai_chat.answer.unsaid import left_out
from clew.engine.asking import asking_of
from clew.engine.call import Call
from clew.engine.dialects import KEEP, NO_HINTS, UNSAID, Hints
from clew.engine.express import Begun, Express
from clew.engine.heads import with_answer
from clew.engine.hearing import LIMITS, StreamHearing
from clew.engine.keeping import FIRST_FLUSH
from clew.engine.over import Over
from clew.engine.parts import Parts
from clew.engine.passing import Passing
from clew.engine.rote.form import Form
from clew.engine.rote.rote import Rote, going_out
from clew.engine.rote.told import Passed, request_id_in, turn_of
from clew.engine.streaming import Streaming
from clew.engine.token_learning import learn
from clew.engine.turns import Heard
from clew.errors import BackendError
from clew.http.client.connection import ClientConnection
from clew.http.client.message import ResponseHead
from clew.http.responder import Responder
from clew.model.change import Change
from clew.model.request import Request
from clew.pipeline.stream.dress import Dress
from clew.settings.values import Settings
from clew.store.outcome import problem_of, when_over
from clew.store.values import Bodies, Turn
from clew.upstream.reply import Reply

__all__ = ["RoteKept", "RoteStream", "RoteTranslated"]


class RoteStream(Rote, Streaming):
    """A streamed answer."""

    __slots__ = (
        *("_began", "_body", "_call", "_client", "_form", "_id", "_is_heard", "_on", "_parts", "_started"),
        *("_first_at", "_hearing", "_is_fresh", "_opened_at", "_passed", "_passing", "_size", "_step", "_taken"),
    )

    def __init__(self, parts: Parts, call: Call, form: Form, body: bytes, client: Responder) -> None:
        self._parts, self._call, self._form, self._body, self._client = parts, call, form, body, client
        self._id, self._started, self._began = parts.new_id(), parts.wall(), parts.clock()
        self._is_heard = False
        client.holder = self

    def begin(self, question: str, now: float, on: ClientConnection) -> Literal[True]:
        """Send the question on this connection, and listen to what comes."""
        form, self._on = self._form, on
        on.begin(form.request, form.way.patience, LIMITS, began=now, body=self._goes(question))
        self._listen()
        return True

    async def dial(self, question: str) -> None:
        """The same on a new connection. Whoever awaits this answers if there is none."""
        form, self._client.holder = self._form, None
        request = form.request.with_body(self._goes(question))
        asked = self._parts.pool.ask(form.endpoint, request, timeouts=form.way.patience, limits=LIMITS)
        try:
            self._on = await asked.open()
        except (asyncio.CancelledError, BackendError) as error:
            express = Express(self._parts, self._call.with_body(self._body), self._client)
            await express.connect_failed(self._begun(), asked, error)
        else:
            self._is_fresh = True
            self._client.hold(self)
            self._listen()

    def _goes(self, question: str) -> bytes:
        """What is sent; from now on the client is not left without a word."""
        form = self._form
        going = going_out(form, self._body, question)
        self._size = len(going)
        self._passed: Passed = []
        self._taken = []
        self._hearing = self._opened_at = None
        self._first_at, self._is_fresh = 0.0, False
        self._passing = passing = Passing(self._client, self, form.snapshot.settings.gateway.ping_seconds)
        passing.watch_silence(self)
        return going

    def headers(self) -> Passed:
        return [*self._passed, ("x-clew-exchange", self._id), *self._form.who]

    def early_headers(self) -> Passed:
        return self.headers() if self._form.has_one_way else [("x-clew-exchange", self._id)]

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

    def _left_out(self) -> Sequence[Change]:
        """What of the answer the client's dialect has no words for."""
        return ()

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
        if made := (*self._left_out(), *(call.change for call in answer.broken_calls)):
            told = replace(told, changes=(*told.changes, *made))
        stop_reason, called = answer.message.get("stop_reason"), request_id_in(self._passed)
        return Over(told, self._id, self._started, ended, seconds, answer.usage, stop_reason, called)

    def _begun(self) -> Begun:
        return (
            super()
            ._begun()
            ._replace(
                passing=self._passing,
                hearing=self._hearing,
                opened_at=self._opened_at,
                first_at=self._first_at,
                is_fresh=self._is_fresh,
            )
        )


class RoteKept(RoteStream):
    """A streamed answer that a store gets before its end is told (law 8)."""

    __slots__ = ("_question", "_timer")

    def _goes(self, question: str) -> bytes:
        self._question = question
        self._timer: asyncio.TimerHandle | None = None
        return super()._goes(question)

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
            with self._client.in_one_piece():
                tell()
            parts.telling.note((turn.exchange, turn.recording))
        except Exception as error:
            self.fail(error)
        else:
            self._client.release()
            self._forget()


class RoteTranslated(RoteStream):
    """A streamed answer in another dialect."""

    __slots__ = ("_unheard",)

    def _goes(self, question: str) -> bytes:
        self._unheard: list[Change] = []
        return super()._goes(question)

    def _dress(self) -> Dress:
        return Dress(replace(self._form.wear, exchange=self._id))

    def _hints(self) -> Hints:
        way = self._form.way
        about = self._parts.token_counts.about(way.backend.name, way.target.model, self._size)
        return replace(self._form.hints, exchange=self._id, input_tokens=about, unsaid=self._leaves_out)

    def _leaves_out(self, kind: str) -> None:
        self._unheard.append(left_out(kind))

    def _is_told(self, heard: Heard, tell: Callable[[], None]) -> None:
        learn(self._parts.token_counts, self._form.way, self._size, heard.answer.usage, self._going)
        super()._is_told(heard, tell)

    def _left_out(self) -> Sequence[Change]:
        return self._unheard

    def _begun(self) -> Begun:
        return super()._begun()._replace(unheard=self._unheard)

    def _going(self) -> Request:
        """What went out, before it was translated."""
        form = self._form
        asking = asking_of(self._call.with_body(self._body), form.snapshot, None, self._id)
        return form.way.projector.project(asking.request, asking.facts).request


async def _unsettled(heard: Heard) -> None:
    """Nobody waits for the store here; whoever takes over says what is to be kept."""
    raise AssertionError("the exchange was not taken over")
