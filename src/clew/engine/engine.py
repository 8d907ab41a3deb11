"""The engine: answers calls. Gateway and library are shells on it."""

from __future__ import annotations

from collections.abc import Awaitable

from clew.engine.call import Call
from clew.engine.express import Express
from clew.engine.parts import Parts
from clew.engine.rote.by_rote import by_rote
from clew.http.responder import Responder

__all__ = ["Engine"]


class Engine:
    """One for a process. What its exchanges share is in `parts`."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts

    def answer(self, call: Call, client: Responder) -> Awaitable[None] | None:
        """Answer one call, to its end: what is left of it to await, or nothing if `client` is held until then.

        Either raises ClewError only before anything was said to the client.
        """
        return Express(self.parts, call, client).begin()

    def again(self, call: Call, body: bytes, client: Responder) -> Awaitable[None] | None:
        """The same for a call with the head of one that was seen before, and this body."""
        work = by_rote(self.parts, call, body, client)
        if work is True:
            return None
        return work or Express(self.parts, call.with_body(body), client).begin()
