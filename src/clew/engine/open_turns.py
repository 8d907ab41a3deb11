"""What came of a stream is kept while it comes, as an open turn: a process that dies does not take it along."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future

from clew.engine.aside import LARGE
from clew.engine.services import EngineServices
from clew.exchange.machine import ExchangeMachine
from clew.exchange.moments import StreamMoments
from clew.exchange.streamed import StreamedAnswer
from clew.exchange.turns import ReceivedAnswer
from clew.http.timers import timer_groups_of
from clew.store.commits import call_when_over

FIRST_FLUSH, NEXT_FLUSH = 0.25, 1.0
"""Seconds after which a stream is kept as open, and between two looks whether another block of it is whole."""


class OpenTurns:
    """Of one exchange, which has a store. There may be thousands of them at a time, and nearly all are over before the first
    look: so they have no timers of their own."""

    # Of attributes that hardly any request sets, the interpreter would make a dictionary for each stream that does (0.5 KB).
    __slots__ = ("_exchange", "_flushed", "_group_at", "_loop", "_services", "_stream", "_waiting", "is_over")

    def __init__(self, services: EngineServices, exchange: ExchangeMachine) -> None:
        self._services = services
        self._exchange = exchange
        self._loop = asyncio.get_running_loop()
        self._stream: StreamedAnswer | None = None
        self._group_at = 0.0
        """When it looks next; 0 if it does not."""
        self._flushed = -1
        """How many whole blocks were kept last."""
        self._waiting: Future[bool] | None = None
        """What was kept last, and nobody waits for."""
        self.is_over = False
        """The turn itself is kept: nothing may come behind it."""

    def watch(self, stream: StreamedAnswer) -> None:
        """From now on it is kept now and then."""
        self._stream = stream
        self._look_after(FIRST_FLUSH)

    def _look_after(self, seconds: float) -> None:
        groups = timer_groups_of(self._loop)
        self._group_at = groups.join(groups.now() + seconds, self)

    def look(self) -> None:
        """Keep it once when it is under way, then after each block."""
        stream, notes = self._stream, self._exchange.notes
        assert stream is not None, "it was told to watch"
        if notes.received.options.keeps_bodies:
            notes.moments = notes.moments or StreamMoments()
            notes.moments.note(stream.size, self._services.clock() - notes.began)
        if stream.stops != self._flushed:
            self._flushed = stream.stops
            if max(stream.size, notes.received.size) > LARGE:
                self._loop.run_in_executor(None, self._keep, stream.so_far(), stream.stops)
            else:
                self._keep(stream.so_far(), stream.stops)
        self._look_after(NEXT_FLUSH)

    def _keep(self, so_far: Callable[[], ReceivedAnswer], stops: int) -> None:
        """Unless more of it was secured while this was put together, perhaps in a thread of its own."""
        store = self._services.store
        if store is None or self.is_over:
            return
        turn = self._exchange.open_turn(so_far(), self._services.wall())
        if self._flushed == stops:
            self._waiting = waiting = store.record_open(turn)
            waiting.add_done_callback(self._is_kept)
            if self._flushed != stops:  # it changed meanwhile
                waiting.cancel()

    def _is_kept(self, done: Future[bool]) -> None:
        """Called by the store's thread. A future takes a kilobyte, and the stream may last for an hour."""
        ignore_result(done)
        if self._waiting is done:
            self._waiting = None

    def secure(self, stream: StreamedAnswer, then: Callable[[], None]) -> None:
        """What came so far, at once: the client is about to get a seal that refers to it. Nothing if the end is near, since
        the end is kept before it is told."""
        services = self._services
        assert services.store is not None
        if not self.is_over:
            self._flushed = stream.stops
            turn = self._exchange.open_turn(stream.heard(whole=False), services.wall())
            if (waiting := self._waiting) is not None:
                waiting.cancel()  # it has less, and would come after this
            call_when_over(services.store.record(turn), services.commit_seconds, then)

    def stop(self) -> None:
        self.is_over = True
        if self._group_at:
            timer_groups_of(self._loop).leave(self._group_at, self)
            self._group_at = 0.0


def ignore_result(done: Future[bool]) -> None:
    """A write that failed is in the store's health; a future that nobody looks at would complain."""
    if not done.cancelled():
        done.exception()
