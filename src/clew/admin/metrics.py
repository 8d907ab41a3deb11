"""Metrics: what is counted of the exchanges that the feed reports, for Prometheus.

No label holds text that a client or a model wrote: backends come from the settings, everything else from closed lists.
Counts begin with the process, as Prometheus expects. `exposition` writes them, when they are asked for.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection
from typing import Final

from clew.model.change import THINKING_STEPS
from clew.model.turn import Exchange
from clew.store.values import Health

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

MOST_WAITING: Final = 256
"""Exchanges that wait to be added up."""
FIRST_BYTE: Final = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0, 120.0)
WHOLE: Final = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)

_THINKING: Final = {"restored": "restored", "left out": "left_out", "handed over": "handed_over", "healed": "healed"}


class Times:
    """How many exchanges took how long: a count for each upper bound, and the sum of all times."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(self.bounds, seconds)] += 1
        self.total += seconds

    def cumulative(self) -> list[tuple[str, float]]:
        """Each bound, and how many exchanges were within it."""
        rows: list[tuple[str, float]] = []
        reached = 0
        for bound, count in zip((*self.bounds, "+Inf"), self.counts, strict=True):
            reached += count
            rows.append((str(bound), reached))
        return rows


class BackendCounts:
    """What is counted of one backend's exchanges: plain additions, because every answer of every gateway is counted."""

    __slots__ = ("first_byte", "requests", "seconds", "thinking", "tokens")

    def __init__(self) -> None:
        self.requests: defaultdict[tuple[str, str, int], int] = defaultdict(int)
        """By kind, outcome and status."""
        self.tokens: defaultdict[str, int] = defaultdict(int)
        self.thinking: defaultdict[str, int] = defaultdict(int, kept=0)
        self.first_byte = Times(FIRST_BYTE)
        self.seconds = Times(WHOLE)

    def add(self, exchange: Exchange) -> None:
        self.requests[exchange.kind, exchange.outcome, exchange.status] += 1
        self.seconds.add(max(0.0, exchange.ended - exchange.started))
        if exchange.first_byte is not None:
            self.first_byte.add(exchange.first_byte)
        if (usage := exchange.usage) is not None:
            self.tokens["input"] += usage.input
            self.tokens["output"] += usage.output
            self.tokens["cache_read"] += usage.cache_read
            self.tokens["cache_written"] += usage.cache_written
        self.thinking["kept"] += exchange.kept
        for change in exchange.changes:
            if change.step in THINKING_STEPS and change.what in _THINKING:
                self.thinking[_THINKING[change.what]] += change.count


class Metrics:
    """One set of counters. Backends whose names are not known are counted as `other`."""

    def __init__(self, backends: Callable[[], Collection[str]] = tuple) -> None:
        """`backends` gives the names in the present settings."""
        self._present_backends = backends
        self._backends: frozenset[str] = frozenset()
        self._known: Collection[str] = ()
        self._waiting: list[Exchange] = []
        self._counts: defaultdict[str, BackendCounts] = defaultdict(BackendCounts)
        self._tries: defaultdict[tuple[str, int], int] = defaultdict(int)

    def know(self, backends: Collection[str]) -> None:
        if backends is not self._known:
            self._known = backends
            self._backends |= frozenset(backends)

    def count(self, exchange: Exchange) -> None:
        """Add one exchange. Every answer waits for this call, so exchanges are added up later, many at a time."""
        self.know(self._present_backends())
        self._waiting.append(exchange)
        if len(self._waiting) >= MOST_WAITING:
            self._add_up()

    def _add_up(self) -> None:
        waiting, self._waiting = self._waiting, []
        for exchange in waiting:
            self._counts[self._label(exchange.backend)].add(exchange)
            for each in exchange.tries:
                self._tries[each.backend, each.status] += 1

    def text(self, health: Health | None, open_streams: int, version: str) -> bytes:
        """All counters, with the present health of the store; None is a store that is switched off."""
        from clew.admin.exposition import Exposition  # late: most gateways are never asked

        self._add_up()
        tries = (((self._label(name), status), count) for (name, status), count in self._tries.items())
        return Exposition(self._counts, tries, health=health, open_streams=open_streams, version=version).text()

    def _label(self, backend: str) -> str:
        return backend if backend in self._backends else "other"
