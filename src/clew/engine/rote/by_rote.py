"""By rote: whether a request goes so, and how an answer in one piece is heard. Streams are in `streams`."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from concurrent.futures import Future
from typing import Final

from msgspec import Struct

from clew.engine.aside import LARGE
from clew.engine.call import Call
from clew.engine.dialects import NO_HINTS
from clew.engine.heads import with_answer
from clew.engine.hearing import LIMITS
from clew.engine.in_one_piece import InOnePiece
from clew.engine.over import Over
from clew.engine.parts import Parts
from clew.engine.reply_type import JSON, comes_as
from clew.engine.rote.form import Form, known_form
from clew.engine.rote.question import question_in
from clew.engine.rote.rote import Rote, going_out
from clew.engine.rote.streams import RoteKept, RoteStream, RoteTranslated
from clew.engine.rote.told import request_id_in, turn_of
from clew.http.client.connection import ClientConnection
from clew.http.client.message import ResponseHead
from clew.http.client.mould import Mould
from clew.http.client.whole import read_at_once
from clew.http.responder import Responder, lines_of
from clew.pipeline.stream.answer import answer_of_message
from clew.pipeline.stream.rename import renamed
from clew.store import Store
from clew.store.outcome import problem_of, when_over
from clew.store.values import Bodies, Turn

__all__ = ["by_rote"]

MOST_MOULDS: Final = 3
"""For each form. A backend has one or two kinds of heads; one that has more is read as it comes."""
_JSON_LINE: Final = b"content-type: application/json\r\n"


def by_rote(parts: Parts, call: Call, body: bytes, client: Responder) -> Awaitable[None] | bool:
    """Whether it is under way: a call with the head of one that was seen before, and this body. Else what is to be awaited
    until it is, if that is all."""
    log = parts.log
    if parts.cool_downs.until or len(body) > LARGE or (log is not None and log.shows_bodies):
        return False
    form = known_form(call, parts.snapshot(), body)
    if form is None or not (question := question_in(body[form.messages], alone=form.translates)):
        return False
    now = parts.pool.now()
    on = form.stock.take(now)
    if form.streams:
        stream = _kind_of_stream(parts, form)
        if on is not None:
            return stream(parts, call, form, body, client).begin(question, now, on)
        return stream is not RoteKept and stream(parts, call, form, body, client).dial(question)
    if on is None:
        return False
    whole = RoteWhole(parts, call, form, body, client, question, on, parts.new_id(), parts.wall(), parts.clock())
    client.holder = whole
    on.lend(whole, form.request, body if form.is_untouched else going_out(form, body, question), form.terms, now)
    return True


def _kind_of_stream(parts: Parts, form: Form) -> type[RoteStream]:
    """(One that is kept and lasts is taken over anyway: where it has to dial, it begins there.)"""
    if parts.store is not None:
        return RoteKept
    return RoteTranslated if form.translates else RoteStream


class RoteWhole(Struct, Rote, InOnePiece, eq=False):
    """An answer in one piece. (A struct is made without a step of Python for each of its fields.)"""

    _parts: Parts
    _call: Call
    _form: Form
    _body: bytes
    _client: Responder
    _question: str
    _on: ClientConnection
    _id: str
    _started: float
    _began: float
    _is_heard: bool = False

    def came(self, data: bytes) -> bool:
        for mould in self._form.moulds:
            if (found := mould.read(data)) is not None:
                lines, request_id, raw = found
                return self._is_heard_as(raw, None, lines, request_id)
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
            form.moulds.append(Mould(raw, wanted, b"request-id"))

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
        form, parts, started = self._form, self._parts, self._started
        message = form.way.dialect.message(raw, NO_HINTS, "messages")
        if not isinstance(message, dict) or not isinstance(message.get("usage"), dict):
            return False
        get, seconds = message.get, parts.clock() - self._began
        over = Over(form.told, self._id, started, started + seconds, seconds, get("usage"), get("stop_reason"), request_id)
        try:
            shown = raw if get("model") == form.model else renamed(raw, form.model)
            own = (_JSON_LINE, lines, b"x-clew-exchange: ", self._id.encode(), b"\r\n", form.lines)
            if parts.store is not None:
                blocks, bodies = answer_of_message(message).blocks, self._bodies(head, raw)
                turn = turn_of(form, over, self._question, self._body[form.messages], blocks, bodies)
                self._keep(parts.store, turn, own, shown)
            else:
                self._client.send_lines(own, shown)
                parts.telling.note(over)
                self._is_heard = True
                form.stock.give_back(self._on, parts.pool.now())
                self._client.release()
        except Exception as error:
            self.fail(error)
        return True

    # With a store.

    def _bodies(self, head: ResponseHead | None, raw: bytes) -> Bodies | None:
        form = self._form
        if head is None or form.snapshot.settings.store.bodies == "off":
            return None
        sent = going_out(form, self._body, self._question)
        return Bodies(asked=self._body, sent=sent, answered=raw, heads=with_answer(form.heads, head))

    def _keep(self, store: Store, turn: Turn, own: Sequence[bytes], shown: bytes) -> None:
        """The turn is kept, then the answer goes out (law 8)."""
        self._give_back()
        write, parts = store.record(turn), self._parts
        when_over(write, parts.commit_seconds, lambda: self._kept(write, turn, own, shown))

    def _kept(self, write: Future[bool], turn: Turn, own: Sequence[bytes], shown: bytes) -> None:
        """The store has it, or cannot have it in time."""
        parts = self._parts
        try:
            if (problem := problem_of(write, parts.commit_seconds)) is not None:
                parts.unrecorded(self._id, problem)
            self._client.send_lines(own, shown)
            parts.telling.note((turn.exchange, turn.recording))
        except Exception as error:
            self.fail(error)
        else:
            self._client.release()
