"""By rote: an exchange that goes as others like it went.

What was decided about the first of its kind is known (`form`). So a request is only measured against that: are these its
bytes, is what it asks one question in words? Then it goes out on a connection that rests (a stream also on a new one), its
answer is read, and passed on. Nothing else is made for it. As soon as anything is unusual, it goes on as any other exchange
(`express`), which finds out all that was left open from the same request and the same snapshot, as if it had been there from
the beginning.
"""

from __future__ import annotations

import msgspec

from clew.engine.call import Call
from clew.engine.express import Begun, Express, raised
from clew.engine.parts import Parts
from clew.engine.rote.form import Form
from clew.http.client.connection import ClientConnection
from clew.http.responder import Responder

__all__ = ["Rote", "going_out"]


def going_out(form: Form, body: bytes, question: str) -> bytes:
    """Such a body as it is sent."""
    if form.is_untouched:
        return body
    between = msgspec.json.encode(question) if form.translates else body[form.messages]
    return b"".join((form.sent_before, between, form.sent_after))


class Rote:
    """One exchange that is under way, as whoever knows its answer keeps it. Holds the client's responder until that is
    here."""

    __slots__ = ()

    _parts: Parts
    _call: Call
    _form: Form
    _body: bytes
    _client: Responder
    _on: ClientConnection
    """What the request goes out on."""
    _id: str
    _started: float
    """By the clock on the wall, and by the one that only goes on."""
    _began: float
    _is_heard: bool
    """All of the answer is here, and its connection is somebody else's."""

    def cancel(self) -> None:
        """The client is gone, or the server ends. An answer that waits for the store has an end very soon."""
        if not self._is_heard:
            self._express().cancel()

    def fail(self, error: Exception) -> None:
        """Something went wrong that is no fault of the backend."""
        if self._is_heard:
            self._client.hand_over(raised(error))
        else:
            self._express().fail(error)

    def _go_the_long_way(self) -> None:
        self._express().go_on()

    def _express(self) -> Express:
        """The same exchange, where everything can happen."""
        self._on.goes_on()
        express = Express(self._parts, self._call.with_body(self._body), self._client)
        express.take_over(self._begun(), self._on)
        return express

    def _begun(self) -> Begun:
        form = self._form
        return Begun(self._id, form.snapshot, form.request, self._started, self._began)

    def _let_go(self) -> None:
        """The backend is done. Its connection stays ours until nothing can go wrong any more."""
        self._on.listener = None

    def _give_back(self) -> None:
        self._is_heard = True
        self._form.stock.give_back(self._on, self._parts.pool.now())
