"""The line of a request that is over, and how it is written with little ado.

Every request writes one, so it is a record of its own: made of what is there already, and put together by the thread that
writes it, in one go where nothing in it can be a secret. Its times are rounded by hand: `round` makes a text of a number and
reads it again, which takes as long as all the rest of the line.
"""

from __future__ import annotations

import logging
import time
from typing import Final, NamedTuple

from msgspec import Struct, structs

from clew.engine.log.lines import Line, as_pairs, line_of
from clew.exchange.redact import Redactor
from clew.model.json import JsonObject
from clew.model.turn import Exchange, TokenUsage
from clew.store.text import exchange_details, exchange_line

_NO_USAGE: Final = TokenUsage()


class SummaryCounts(NamedTuple):
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
    dialect: str
    outcome: str
    status: int
    seconds: float
    first_byte: float | None
    attempts: int
    input: int
    output: int
    cache_read: int
    cache_written: int
    estimated: bool
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

    def __init__(self, name: str, exchange: Exchange, counts: SummaryCounts, known: int) -> None:
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
        told = structs.asdict(self.told(""))
        return {name: value for name, value in told.items() if name not in ("at", "level", "event")}

    def told(self, at: str) -> _Told:
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
            exchange.dialect,
            exchange.outcome,
            exchange.status,
            (1000 * (exchange.ended - exchange.started) + 0.5) // 1 / 1000,
            None if exchange.first_byte is None else (1000 * exchange.first_byte + 0.5) // 1 / 1000,
            exchange.attempts,
            usage.input,
            usage.output,
            usage.cache_read,
            usage.cache_written,
            usage.estimated,
            *self.counts,
            self.known,
        )


def short_line_of(record: logging.LogRecord, redact: Redactor) -> str:
    """The record as it is written, without the last newline."""
    if isinstance(record, Summary):
        exchange = record.exchange
        return "\n    ".join(redact(text) for text in (exchange_line(exchange), *exchange_details(exchange)))
    return line_of(record, redact, as_pairs)
