"""The exposition: what `metrics` counted, and the present state, in the Prometheus text form.

The Prometheus library brings an HTTP server and client of its own, two megabytes that most gateways never need. So this
module is imported with the first request for metrics, and no other module imports it at its beginning.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from clew.admin.metrics import BackendCounts, Times
from clew.store.values import Health

_STORE_STATES: Final = ("ok", "degraded", "read-only", "off")


class Exposition(Collector):
    """Counts and tries by backend, with the present health of the store; None is a store that is switched off."""

    def __init__(
        self,
        counts: Mapping[str, BackendCounts],
        tries: Iterable[tuple[tuple[str, int], int]],
        *,
        health: Health | None,
        open_streams: int,
        version: str,
    ) -> None:
        self._counts = counts.items()
        self._tries = tries
        self._health = health
        self._open_streams = open_streams
        self._version = version

    def text(self) -> bytes:
        return generate_latest(self)

    def collect(self) -> Iterator[Metric]:
        counts, health = self._counts, self._health
        yield _counter(
            "clew_requests",
            "Exchanges that are over.",
            ("backend", "kind", "outcome", "status"),
            (
                ((name, kind, outcome, _class_of(status)), count)
                for name, each in counts
                for (kind, outcome, status), count in each.requests.items()
            ),
        )
        yield _counter(
            "clew_tokens",
            "Tokens as the backend counted them.",
            ("backend", "kind"),
            (((name, kind), count) for name, each in counts for kind, count in each.tokens.items()),
        )
        yield _counter(
            "clew_thinking_blocks",
            "Thinking blocks: kept, restored, left out, and so on.",
            ("backend", "action"),
            (((name, action), count) for name, each in counts for action, count in each.thinking.items()),
        )
        yield _counter(
            "clew_tries",
            "Calls to a backend.",
            ("backend", "result"),
            (((name, _class_of(status)), count) for (name, status), count in self._tries),
        )
        yield _times("clew_first_byte_seconds", "To the first content.", ((name, each.first_byte) for name, each in counts))
        yield _times("clew_request_seconds", "Whole exchanges.", ((name, each.seconds) for name, each in counts))
        state = health.state if health else "off"
        states = {each: float(each == state) for each in _STORE_STATES}
        waiting, wal_bytes = (health.waiting, health.wal_bytes) if health else (0, 0)
        yield GaugeMetricFamily("clew_open_streams", "Exchanges that are not over.", value=self._open_streams)
        yield _gauges("clew_store_state", "1 for the state that the store is in.", "state", states)
        yield GaugeMetricFamily("clew_store_waiting", "Writes that wait for the store.", value=waiting)
        local = health.local if health else 0
        yield GaugeMetricFamily("clew_store_local_turns", "Turns that a shared store does not have yet.", value=local)
        yield GaugeMetricFamily("clew_store_wal_bytes", "Bytes in the store's log.", value=wal_bytes)
        yield _gauges("clew_build_info", "The version that runs.", "version", {self._version: 1.0})


def _counter(
    name: str, about: str, labels: tuple[str, ...], rows: Iterable[tuple[tuple[str, ...], float]]
) -> CounterMetricFamily:
    """Rows with the same labels are added up."""
    family = CounterMetricFamily(name, about, labels=labels)
    found: defaultdict[tuple[str, ...], float] = defaultdict(float)
    for values, amount in rows:
        found[values] += amount
    for values, amount in found.items():
        family.add_metric(values, amount)
    return family


def _times(name: str, about: str, rows: Iterable[tuple[str, Times]]) -> HistogramMetricFamily:
    family = HistogramMetricFamily(name, about, labels=("backend",))
    for backend, times in rows:
        if any(times.counts):
            family.add_metric((backend,), times.cumulative(), times.total)
    return family


def _gauges(name: str, about: str, label: str, values: Mapping[str, float]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, about, labels=(label,))
    for value, amount in values.items():
        family.add_metric((value,), amount)
    return family


def _class_of(status: int) -> str:
    return f"{status // 100}xx" if 100 <= status < 600 else "none"
