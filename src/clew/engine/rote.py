"""By rote: an exchange that goes as others like it went.

What was decided about the first of its kind is known (`form`). So a request is only measured against that: are these its
bytes, is what it asks one question in words? Then it goes out on a connection that rests, its answer is read, and passed on.
Nothing else is made for it. As soon as anything is unusual, it goes on as any other exchange (`express`), which finds out
all that was left open from the same request and the same snapshot, as if it had been there from the beginning.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from clew.engine.aside import LARGE
from clew.engine.call import Call
from clew.engine.express import Begun, Express
from clew.engine.form import Form, known_form
from clew.engine.parts import Parts
from clew.engine.question import question_in
from clew.engine.turns import usage_of
from clew.http.client import ClientConnection
from clew.http.responder import Responder
from clew.model.json import JsonValue
from clew.store.values import Exchange, Try

__all__ = ["Passed", "Rote", "form_for", "going_out"]

Passed = list[tuple[str, str]]
"""What of a backend's headers goes to the client."""


def form_for(parts: Parts, call: Call, body: bytes) -> Form | None:
    """What is known about a call with this head and this body; None where it has to be found out, or somebody looks on."""
    if not call.forms or parts.store is not None or parts.cool_downs.until or len(body) > LARGE:
        return None
    if parts.log is not None and parts.log.shows_bodies:
        return None
    return known_form(call, parts.snapshot(), body)


def going_out(form: Form, body: bytes) -> bytes:
    """What is sent, if what it asks is one question; else b""."""
    messages = body[form.start : len(body) - form.rest]
    question = question_in(messages, alone=form.translates)
    if not question or form.is_untouched:
        return body if question else b""
    between = msgspec.json.encode(question) if form.translates else messages
    return b"".join((form.sent_before, between, form.sent_after))


class Rote:
    """One exchange that is under way. Holds the client's responder until the answer is here."""

    __slots__ = ("_began", "_body", "_call", "_client", "_form", "_id", "_on", "_parts", "_started")

    def __init__(self, parts: Parts, call: Call, form: Form, body: bytes, client: Responder, on: ClientConnection) -> None:
        self._parts = parts
        self._call = call
        self._form = form
        self._body = body
        self._client = client
        self._on = on
        self._id = parts.new_id()
        self._started = parts.wall()
        self._began = parts.clock()
        client.holder = self

    def cancel(self) -> None:
        """The client is gone, or the server ends."""
        self._express().cancel()

    def fail(self, error: Exception) -> None:
        """Something went wrong that is no fault of the backend."""
        self._express().fail(error)

    def _go_the_long_way(self) -> None:
        self._express().go_on()

    def _express(self) -> Express:
        """The same exchange, where everything can happen."""
        express = Express(self._parts, self._call.with_body(self._body), self._client)
        express.take_over(self._begun())
        return express

    def _begun(self) -> Begun:
        form = self._form
        return Begun(self._id, form.snapshot, self._on, form.request, self._started, self._began)

    def _let_go(self) -> None:
        """The backend is done. Its connection stays ours until nothing can go wrong any more."""
        self._on.news = None

    def _end(self) -> None:
        """All is told."""
        self._parts.pool.give_back(self._form.shelf, self._on)
        self._client.release()

    def _exchange(self, usage: JsonValue, stop_reason: JsonValue, passed: Passed, first_at: float) -> Exchange:
        """As `story` would tell it."""
        like, seconds = self._form.told, round(first_at - self._began, 6)
        return replace(
            like,
            id=self._id,
            thread=self._id,
            started=self._started,
            ended=self._parts.wall(),
            status=200,
            first_byte=seconds,
            usage=usage_of(usage, estimated=False) if isinstance(usage, dict) else None,
            stop_reason=stop_reason if isinstance(stop_reason, str) else "",
            request_id=_request_id(passed),
            tries=(Try(backend=like.backend, status=200, seconds=seconds),),
        )


def _request_id(passed: Passed) -> str:
    for name, value in passed:
        if name == "request-id":
            return value
    return ""
