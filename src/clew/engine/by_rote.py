"""Three ways to hear an answer by rote: in one piece, as a stream, and as a stream in another dialect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from clew.engine.asking import asking_of
from clew.engine.call import Call
from clew.engine.dialects import NO_HINTS, UNSAID, Hints
from clew.engine.express import Begun
from clew.engine.form import Form
from clew.engine.hearing import JSON, LIMITS, StreamHearing, comes_as
from clew.engine.parts import Parts
from clew.engine.passing import Passing
from clew.engine.rote import Passed, Rote, form_for, going_out
from clew.engine.streaming import Streaming
from clew.engine.token_learning import learn
from clew.engine.turns import Heard
from clew.http.client import ClientConnection
from clew.http.client_message import ResponseHead
from clew.http.responder import Responder
from clew.model.json import JsonObject
from clew.model.request import Request
from clew.pipeline.stream.dress import Dress
from clew.pipeline.stream.rename import renamed
from clew.settings.values import Settings
from clew.upstream.reply import Reply

__all__ = ["by_rote"]

_JSON_LINE: Final = "content-type: application/json\r\n"


def by_rote(parts: Parts, call: Call, body: bytes, client: Responder) -> bool:
    """Whether it is under way: a call with the head of one that was seen before, and this body."""
    form = form_for(parts, call, body)
    going = b"" if form is None else going_out(form, body)
    if form is None or not going:
        return False
    on = parts.pool.send(form.shelf, form.request, going, form.way.patience, LIMITS)
    if on is None:
        return False
    if form.translates:
        RoteTranslated(parts, call, form, body, client, on).size = len(going)
    else:
        (RoteStream if form.streams else RoteWhole)(parts, call, form, body, client, on)
    return True


class RoteWhole(Rote):
    """An answer in one piece."""

    __slots__ = ()

    def __init__(self, parts: Parts, call: Call, form: Form, body: bytes, client: Responder, on: ClientConnection) -> None:
        super().__init__(parts, call, form, body, client, on)
        on.news = self._news

    def _news(self) -> None:
        try:
            self._whole_comes()
        except Exception as error:  # else it would be lost on the loop, and the client would wait for ever
            self.fail(error)

    def _whole_comes(self) -> None:
        on = self._on
        head, raw = on.heard, on.whole()
        if head is None or raw is None:
            if on.has_failed or on.is_full or (head is not None and not comes_as(head, JSON)):
                self._go_the_long_way()
            return
        message = self._form.way.dialect.message(raw, NO_HINTS, "messages") if comes_as(head, JSON) else None
        if isinstance(message, dict):
            self._tell(head, raw, message)
        else:
            on.put_back(raw)
            self._go_the_long_way()

    def _tell(self, head: ResponseHead, raw: bytes, message: JsonObject) -> None:
        form, parts, client, get = self._form, self._parts, self._client, message.get
        self._let_go()
        passed = form.way.dialect.passed(head.headers, self._started)
        parts.tell(self._exchange(get("usage"), get("stop_reason"), passed, parts.clock()), None)
        shown = raw if get("model") == form.model else renamed(raw, form.model)
        told = "".join([f"{name}: {value}\r\n" for name, value in passed])
        client.send_lines(200, f"{_JSON_LINE}{told}x-clew-exchange: {self._id}\r\n{form.lines}", shown)
        self._end()


class RoteStream(Rote, Streaming):
    """A streamed answer."""

    _hearing: StreamHearing | None = None
    _passed: Passed
    _opened_at: float | None = None
    _first_at = 0.0

    def __init__(self, parts: Parts, call: Call, form: Form, body: bytes, client: Responder, on: ClientConnection) -> None:
        super().__init__(parts, call, form, body, client, on)
        self._passing = passing = Passing(client, self._headers, form.snapshot.settings.gateway.ping_seconds)
        self._passed = []
        passing.watch_silence(self._quiet)
        self._listen(self._stream_begins_to_come)

    def _headers(self) -> Passed:
        return [*self._passed, ("x-clew-exchange", self._id), *self._form.who]

    def _heard_of(self, head: ResponseHead, passing: Passing) -> StreamHearing:
        form, self._opened_at = self._form, self._on.heard_at
        self._passed = form.way.dialect.passed(head.headers, self._started)
        return StreamHearing(
            self._dress(),
            form.way.dialect,
            self._hints(),
            passing,
            _unsettled,
            first_content=form.snapshot.settings.first_content_seconds,
            since=self._opened_at,
            blocks=False,
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
        answer, message = heard.answer, heard.answer.message
        exchange = self._exchange(answer.usage, message.get("stop_reason"), self._passed, self._first_at)
        self._parts.tell(exchange, None)
        tell()
        self._end()
        self._forget()

    def _begun(self) -> Begun:
        return (
            super()
            ._begun()
            ._replace(passing=self._passing, hearing=self._hearing, opened_at=self._opened_at, first_at=self._first_at)
        )


class RoteTranslated(RoteStream):
    """A streamed answer in another dialect."""

    size = 0
    """The bytes that went out."""

    def _dress(self) -> Dress:
        return Dress(replace(self._form.wear, exchange=self._id))

    def _hints(self) -> Hints:
        way = self._form.way
        about = self._parts.token_counts.about(way.backend.name, way.target.model, self.size)
        return replace(self._form.hints, exchange=self._id, input_tokens=about)

    def _is_told(self, heard: Heard, tell: Callable[[], None]) -> None:
        learn(self._parts.token_counts, self._form.way, self.size, heard.answer.usage, self._going)
        super()._is_told(heard, tell)

    def _going(self) -> Request:
        """What went out, before it was translated."""
        form = self._form
        asking = asking_of(self._call.with_body(self._body), form.snapshot, None, self._id)
        return form.way.projector.project(asking.request, asking.facts).request


async def _unsettled(heard: Heard) -> None:
    """Nobody waits for the store here; whoever takes over says what is to be kept."""
    raise AssertionError("the exchange was not taken over")
