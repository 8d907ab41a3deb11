"""Metrics in the Prometheus text form, counted from the exchanges that the feed tells of.

No label holds what a client or a model wrote: backends come from the settings, everything else from closed lists. Counts
begin with the process, as Prometheus expects.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from prometheus_client import CollectorRegistry, Gauge, Metric
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import generate_latest

from clew.admin.sums import Sums, Times
from clew.engine.over import Alike
from clew.store.values import Exchange, Health

__all__ = ["CONTENT_TYPE", "Metrics"]

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

_STORE: Final = ("ok", "degraded", "read-only", "off")
MOST_NEWS: Final = 256
"""Exchanges that wait to be added up."""


class Metrics:
    """One set of counters. Names of backends that are not known are counted as `other`."""

    def __init__(self, version: str) -> None:
        own = self.registry = CollectorRegistry()
        self._backends: frozenset[str] = frozenset()
        self._known: Collection[str] = ()
        self._news: list[Exchange] = []
        self._sums: defaultdict[str, Sums] = defaultdict(Sums)
        self._tries: defaultdict[tuple[str, int], int] = defaultdict(int)
        own.register(self)
        self.open = Gauge("clew_open_streams", "Exchanges that are not over, in this process.", registry=own)
        self.store = Gauge("clew_store_state", "1 for the state that the store is in.", ["state"], registry=own)
        self.waiting = Gauge("clew_store_waiting", "Writes that wait for the store.", registry=own)
        self.wal = Gauge("clew_store_wal_bytes", "Bytes in the store's log.", registry=own)
        Gauge("clew_build_info", "The version that runs.", ["version"], registry=own).labels(version).set(1)

    def know(self, backends: Collection[str]) -> None:
        if backends is not self._known:
            self._known = backends
            self._backends |= frozenset(backends)

    def count(self, over: Exchange | Alike) -> None:
        """Add one exchange. It is only noted here, since this is on the way of every answer, and added up with others. Or
        many that went alike."""
        if isinstance(over, Alike):
            self._sums[self._named(over.like.backend)].add_alike(over)
            self._tries[over.like.backend, over.like.status] += len(over.overs)
            return
        self._news.append(over)
        if len(self._news) >= MOST_NEWS:
            self._add_up()

    def _add_up(self) -> None:
        news, self._news = self._news, []
        for exchange in news:
            self._sums[self._named(exchange.backend)].add(exchange)
            for each in exchange.tries:
                self._tries[each.backend, each.status] += 1

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

    # What the registry calls.

    def collect(self) -> Iterator[Metric]:
        sums = self._sums.items()
        yield _counter(
            "clew_requests",
            "Exchanges that are over.",
            ("backend", "kind", "outcome", "status"),
            (
                ((name, kind, outcome, _class_of(status)), count)
                for name, each in sums
                for (kind, outcome, status), count in each.requests.items()
            ),
        )
        yield _counter(
            "clew_tokens",
            "Tokens as the backend counted them.",
            ("backend", "kind"),
            (((name, kind), count) for name, each in sums for kind, count in each.tokens.items()),
        )
        yield _counter(
            "clew_thinking_blocks",
            "What became of thinking blocks.",
            ("backend", "action"),
            (((name, action), count) for name, each in sums for action, count in each.thinking.items()),
        )
        yield _counter(
            "clew_tries",
            "Calls to a backend.",
            ("backend", "result"),
            (((self._named(name), _class_of(status)), count) for (name, status), count in self._tries.items()),
        )
        yield _times("clew_first_byte_seconds", "To the first content.", ((name, each.first_byte) for name, each in sums))
        yield _times("clew_request_seconds", "Whole exchanges.", ((name, each.seconds) for name, each in sums))


def _counter(
    name: str, about: str, labels: tuple[str, ...], rows: Iterable[tuple[tuple[str, ...], float]]
) -> CounterMetricFamily:
    """Rows with the same labels are one."""
    family = CounterMetricFamily(name, about, labels=labels)
    found: defaultdict[tuple[str, ...], float] = defaultdict(float)
    for told, amount in rows:
        found[told] += amount
    for told, amount in found.items():
        family.add_metric(told, amount)
    return family


def _times(name: str, about: str, rows: Iterable[tuple[str, Times]]) -> HistogramMetricFamily:
    family = HistogramMetricFamily(name, about, labels=("backend",))
    for backend, times in rows:
        if any(times.counts):
            family.add_metric((backend,), times.rising(), times.total)
    return family


def _class_of(status: int) -> str:
    return f"{status // 100}xx" if 100 <= status < 600 else "none"
