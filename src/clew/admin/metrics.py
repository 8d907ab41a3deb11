"""Metrics in the Prometheus text form, counted from the exchanges that the feed tells of.

No label holds what a client or a model wrote: backends come from the settings, everything else from closed lists. Counts
begin with the process, as Prometheus expects.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final, TypeAlias

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.exposition import generate_latest

from clew.store.values import Exchange, Health

__all__ = ["CONTENT_TYPE", "Metrics"]

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

_FIRST_BYTE: Final = (0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120)
_WHOLE: Final = (0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600)
_THINKING: Final = {"restored": "restored", "left out": "left_out", "handed over": "handed_over", "healed": "healed"}
_THINKING_STEPS: Final = frozenset({"thinking", "thinking_parameter", "heal"})
_STORE: Final = ("ok", "degraded", "read-only", "off")
MOST_NEWS: Final = 256
"""Exchanges that wait to be added up."""

_Sums: TypeAlias = defaultdict[tuple[Counter, tuple[str, ...]], float]


class Metrics:
    """One set of counters. Names of backends that are not known are counted as `other`."""

    def __init__(self, version: str) -> None:
        disable_created_metrics()  # a second line for each counter, which nobody asked for
        own = self.registry = CollectorRegistry()
        self._backends: frozenset[str] = frozenset()
        self._news: list[Exchange] = []
        self.requests = Counter(
            "clew_requests", "Exchanges that are over.", ["backend", "kind", "outcome", "status"], registry=own
        )
        self.tokens = Counter("clew_tokens", "Tokens as the backend counted them.", ["backend", "kind"], registry=own)
        self.thinking = Counter(
            "clew_thinking_blocks",
            "What became of thinking blocks.",
            ["backend", "action"],
            registry=own,
        )
        self.tries = Counter("clew_tries", "Calls to a backend.", ["backend", "result"], registry=own)
        self.first_byte = Histogram(
            "clew_first_byte_seconds", "To the first content.", ["backend"], buckets=_FIRST_BYTE, registry=own
        )
        self.seconds = Histogram("clew_request_seconds", "Whole exchanges.", ["backend"], buckets=_WHOLE, registry=own)
        self.open = Gauge("clew_open_streams", "Exchanges that are not over, in this process.", registry=own)
        self.store = Gauge("clew_store_state", "1 for the state that the store is in.", ["state"], registry=own)
        self.waiting = Gauge("clew_store_waiting", "Writes that wait for the store.", registry=own)
        self.wal = Gauge("clew_store_wal_bytes", "Bytes in the store's log.", registry=own)
        Gauge("clew_build_info", "The version that runs.", ["version"], registry=own).labels(version).set(1)

    def know(self, backends: Iterable[str]) -> None:
        self._backends |= frozenset(backends)

    def count(self, exchange: Exchange) -> None:
        """Add one exchange. It is only noted here, since this is on the way of every answer, and added up with others."""
        self._news.append(exchange)
        if len(self._news) >= MOST_NEWS:
            self._add_up()

    def _add_up(self) -> None:
        news, self._news = self._news, []
        sums: _Sums = defaultdict(float)
        for exchange in news:
            self._sum(exchange, sums)
        for (counter, labels), amount in sums.items():
            counter.labels(*labels).inc(amount)

    def _sum(self, exchange: Exchange, sums: _Sums) -> None:
        backend = self._named(exchange.backend)
        sums[self.requests, (backend, exchange.kind, exchange.outcome, _class_of(exchange.status))] += 1
        self.seconds.labels(backend).observe(max(0.0, exchange.ended - exchange.started))
        if exchange.first_byte is not None:
            self.first_byte.labels(backend).observe(exchange.first_byte)
        self._sum_tokens(backend, exchange, sums)
        self._sum_thinking(backend, exchange, sums)
        for each in exchange.tries:
            sums[self.tries, (self._named(each.backend), _class_of(each.status))] += 1

    def text(self, health: Health | None, open_streams: int) -> bytes:
        """All of it, with the store as it is now; None is a store that is switched off."""
        self._add_up()
        state = health.state if health else "off"
        for each in _STORE:
            self.store.labels(each).set(each == state)
        self.waiting.set(health.waiting if health else 0)
        self.wal.set(health.wal_bytes if health else 0)
        self.open.set(open_streams)
        return generate_latest(self.registry)

    def _named(self, backend: str) -> str:
        return backend if backend in self._backends else "other"

    def _sum_tokens(self, backend: str, exchange: Exchange, sums: _Sums) -> None:
        if exchange.usage is not None:
            for kind in ("input", "output", "cache_read", "cache_written"):
                sums[self.tokens, (backend, kind)] += getattr(exchange.usage, kind)

    def _sum_thinking(self, backend: str, exchange: Exchange, sums: _Sums) -> None:
        sums[self.thinking, (backend, "kept")] += exchange.kept
        for change in exchange.changes:
            if change.step in _THINKING_STEPS and change.what in _THINKING:
                sums[self.thinking, (backend, _THINKING[change.what])] += 1


def _class_of(status: int) -> str:
    return f"{status // 100}xx" if 100 <= status < 600 else "none"
