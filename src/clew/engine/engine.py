"""The engine: answers calls. Gateway and library are shells on it."""

from __future__ import annotations

from collections.abc import Awaitable

from clew.engine.driver import Driver
from clew.engine.process_commands import TurnObserver
from clew.engine.services import EngineServices
from clew.engine.stored_answers import answer_stored
from clew.exchange.call import Call
from clew.http.responder import Responder


class Engine:
    """One for a process. What its exchanges share is in `services`."""

    def __init__(self, services: EngineServices) -> None:
        self.services = services

    def answer(self, call: Call, client: Responder, observer: TurnObserver | None = None) -> Awaitable[None] | None:
        """Answer one call, to its end: what is left of it to await, or nothing if `client` is held until then.

        `observer`: of a caller that keeps its own conversation. Either raises ClewError only before anything was said to
        the client.
        """
        if call.operation == "stored":
            return answer_stored(self.services, call, client)
        driver = Driver(self.services, call, client, observer)
        if not driver.preparation.begins_at_once():
            return driver.prepare_and_begin()
        driver.preparation.make_exchange()
        return driver.begin()
