"""The line of a request that is over, and how it is written with little ado.

Every request writes one, so it is a record of its own: made of what is there already, and put together by the thread that
writes it, in one go where nothing in it can be a secret. Its times are rounded by hand: `round` makes a text of a number and
reads it again, which takes as long as all the rest of the line.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Final, NamedTuple

from msgspec import Struct, structs

from clew.engine.log.lines import Line
from clew.engine.over import Alike
from clew.model.json import JsonObject
from clew.store.values import Exchange, Usage

__all__ = ["Counts", "Summaries", "Summary"]

_NO_USAGE: Final = Usage()


class Counts(NamedTuple):
    """The document's counts for one request, in its words."""

    session: int
    confirmed: int = 0
    cleanup_old_session: int = 0
    cleanup_confirmed_unused: int = 0
    cleanup_orphaned: int = 0
    filtered_from_request: int = 0


class _Told(Struct, frozen=True, gc=False):
    """The fields in their order."""

    at: str
    level: str
    event: str
    exchange: str
    thread: str
    asked: str
    backend: str
    model: str
    outcome: str
    status: int
    seconds: float
    first_byte: float | None
    attempts: int
    input: int
    output: int
    cache_read: int
    cache_written: int
    session: int
    confirmed: int
    cleanup_old_session: int
    cleanup_confirmed_unused: int
    cleanup_orphaned: int
    filtered_from_request: int
    cache_size_after: int


class Summary(Line):
    """What became of one request."""

    msg = "request"
    levelno = logging.INFO
    levelname = "INFO"
    is_light = True

    def __init__(self, name: str, exchange: Exchange, counts: Counts, known: int) -> None:
        self.name = name
        self.created = time.time()
        self.exchange = exchange
        self.counts = counts
        self.known = known

    @property
    def names(self) -> tuple[str, ...]:
        """A thread that begins with this exchange has its id, which is of our own making."""
        exchange = self.exchange
        told = exchange.asked_model, exchange.backend, exchange.model
        return told if exchange.thread == exchange.id else (*told, exchange.thread)

    @property
    def msecs(self) -> float:
        return self.created % 1 * 1000

    @property
    def fields(self) -> JsonObject:
        told = structs.asdict(self._told(""))
        return {name: value for name, value in told.items() if name not in ("at", "level", "event")}

    def told(self, at: str) -> list[_Told]:
        return [self._told(at)]

    def _told(self, at: str) -> _Told:
        exchange, usage = self.exchange, self.exchange.usage or _NO_USAGE
        return _Told(
            at,
            "info",
            "request",
            exchange.id,
            exchange.thread,
            exchange.asked_model,
            exchange.backend,
            exchange.model,
            exchange.outcome,
            exchange.status,
            (1000 * (exchange.ended - exchange.started) + 0.5) // 1 / 1000,
            None if exchange.first_byte is None else (1000 * exchange.first_byte + 0.5) // 1 / 1000,
            exchange.attempts,
            usage.input,
            usage.output,
            usage.cache_read,
            usage.cache_written,
            *self.counts,
            self.known,
        )


class Summaries(Line):
    """What became of many requests that went alike, each on a line of its own."""

    msg = "request"
    levelno = logging.INFO
    levelname = "INFO"

    def __init__(self, name: str, alike: Alike, counts: Counts, known: int) -> None:
        self.name = name
        self.created = time.time()
        self.lines = len(alike.overs)
        self._alike = alike
        self._counts = counts
        self._known = known

    @property
    def names(self) -> tuple[str, ...]:
        """All threads begin here."""
        like = self._alike.like
        return like.asked_model, like.backend, like.model

    def each(self) -> Sequence[Line]:
        lines = [Summary(self.name, exchange, self._counts, self._known) for exchange in self._alike.exchanges()]
        for line in lines:
            line.created = self.created  # this is asked for by whoever writes them, which may be much later
        return lines

    def told(self, at: str) -> list[_Told]:
        alike, like, counts, known = self._alike, self._alike.like, self._counts, self._known
        asked, backend, model, outcome, status = like.asked_model, like.backend, like.model, like.outcome, like.status
        return [
            _Told(
                at,
                "info",
                "request",
                over.id,
                over.id,
                asked,
                backend,
                model,
                outcome,
                status,
                (1000 * (over.ended - over.started) + 0.5) // 1 / 1000,
                (1000 * over.first_byte + 0.5) // 1 / 1000,
                like.attempts,
                asked_tokens,
                output,
                cache_read,
                cache_written,
                *counts,
                known,
            )
            for over, (asked_tokens, output, cache_read, cache_written) in zip(alike.overs, alike.tokens, strict=True)
        ]
