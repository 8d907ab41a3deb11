"""What came of a stream is kept while it comes, as an open turn: a process that dies does not take it along."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future

from clew.engine.aside import LARGE
from clew.engine.services import EngineServices
from clew.exchange.machine import ExchangeMachine
from clew.exchange.streamed import StreamedAnswer
from clew.store.commits import call_when_over

FIRST_FLUSH, NEXT_FLUSH = 0.25, 1.0
"""Seconds after which a stream is kept as open, and between two looks whether another block of it is whole."""


class OpenTurns:
    """Of one exchange, which has a store."""

    is_over = False
    """The turn itself is kept: nothing may come behind it."""
    _timer: asyncio.TimerHandle | None = None
    _flushed = -1
    """How many whole blocks were kept last."""
    _waiting: Future[bool] | None = None
    """What was kept last, and nobody waits for."""

    def __init__(self, services: EngineServices, exchange: ExchangeMachine) -> None:
        self._services = services
        self._exchange = exchange

    def watch(self, stream: StreamedAnswer) -> None:
        """From now on it is kept now and then."""
        self._timer = asyncio.get_running_loop().call_later(FIRST_FLUSH, self._flush, stream)

    def _flush(self, stream: StreamedAnswer) -> None:
        """Once that it is under way, then after each block."""
        loop, notes = asyncio.get_running_loop(), self._exchange.notes
        if notes.received.options.keeps_bodies:
            notes.times.append((stream.size, round(self._services.clock() - notes.began, 3)))
        if stream.stops != self._flushed:
            self._flushed = stream.stops
            if max(stream.size, notes.received.size) > LARGE:
                loop.run_in_executor(None, self._keep, stream, stream.stops)
            else:
                self._keep(stream, stream.stops)
        self._timer = loop.call_later(NEXT_FLUSH, self._flush, stream)

    def _keep(self, stream: StreamedAnswer, stops: int) -> None:
        """Unless more of it was secured while this was put together, perhaps in a thread of its own."""
        store = self._services.store
        if store is None or self.is_over:
            return
        turn = self._exchange.open_turn(self._services.wall())
        if self._flushed == stops:
            self._waiting = waiting = store.record_open(turn)
            waiting.add_done_callback(ignore_result)
            if self._flushed != stops:  # it changed meanwhile
                waiting.cancel()

    def secure(self, stream: StreamedAnswer, then: Callable[[], None]) -> None:
        """What came so far, at once: the client is about to get a seal that refers to it. Nothing if the end is near, since
        the end is kept before it is told."""
        services = self._services
        assert services.store is not None
        if not self.is_over:
            self._flushed = stream.stops
            turn = self._exchange.open_turn(services.wall())
            if self._waiting is not None:
                self._waiting.cancel()  # it has less, and would come after this
            call_when_over(services.store.record(turn), services.commit_seconds, then)

    def stop(self) -> None:
        self.is_over = True
        if self._timer is not None:
            self._timer.cancel()


def ignore_result(done: Future[bool]) -> None:
    """A write that failed is in the store's health; a future that nobody looks at would complain."""
    if not done.cancelled():
        done.exception()
