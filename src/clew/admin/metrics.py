"""Metrics, counted from the exchanges that the feed tells of, for Prometheus.

No label holds what a client or a model wrote: backends come from the settings, everything else from closed lists. Counts
begin with the process, as Prometheus expects. What it all looks like is for `exposition`, once somebody asks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import Final

from clew.admin.sums import Sums
from clew.store.reports import Health
from clew.store.values import Exchange

__all__ = ["CONTENT_TYPE", "Metrics"]

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

MOST_NEWS: Final = 256
"""Exchanges that wait to be added up."""


class Metrics:
    """One set of counters. Names of backends that are not known are counted as `other`."""

    def __init__(self) -> None:
        self._backends: frozenset[str] = frozenset()
        self._known: Collection[str] = ()
        self._news: list[Exchange] = []
        self._sums: defaultdict[str, Sums] = defaultdict(Sums)
        self._tries: defaultdict[tuple[str, int], int] = defaultdict(int)

    def know(self, backends: Collection[str]) -> None:
        if backends is not self._known:
            self._known = backends
            self._backends |= frozenset(backends)

    def count(self, exchange: Exchange) -> None:
        """Add one exchange. It is only noted here, since this is on the way of every answer, and added up with others."""
        self._news.append(exchange)
        if len(self._news) >= MOST_NEWS:
            self._add_up()

    def _add_up(self) -> None:
        news, self._news = self._news, []
        for exchange in news:
            self._sums[self._named(exchange.backend)].add(exchange)
            for each in exchange.tries:
                self._tries[each.backend, each.status] += 1

    def text(self, health: Health | None, open_streams: int, version: str) -> bytes:
        """All of it, with the store as it is now; None is a store that is switched off."""
        from clew.admin.exposition import Exposition  # late: hardly anybody asks

        self._add_up()
        tries = (((self._named(name), status), count) for (name, status), count in self._tries.items())
        return Exposition(self._sums, tries, health=health, open_streams=open_streams, version=version).text()

    def _named(self, backend: str) -> str:
        return backend if backend in self._backends else "other"
