"""The engine: answers calls. Gateway and library are shells on it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from clew.engine.aside import look_up
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
            return _prepare_and_begin(driver, len(call.body))
        return driver.begin()


async def _prepare_and_begin(driver: Driver, size: int) -> None:
    """Begin with a request that takes a while to prepare: that is done in a thread, all in one go."""
    preparation = driver.preparation
    try:
        await look_up(size, preparation.look_up, preparation.wanted.drop)
    except BaseException as error:
        if isinstance(error, asyncio.CancelledError):
            await driver.leave()
        raise
    work = driver.begin()
    if work is not None:
        await work
