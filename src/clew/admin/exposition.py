"""The exposition: what `metrics` counted, and how things are now, in the Prometheus text form.

Its library brings an HTTP server and client of its own, two megabytes that most gateways never need. So it is loaded with
the first question, and nothing else imports this module at its beginning.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from clew.admin.sums import Sums, Times
from clew.store.reports import Health

__all__ = ["Exposition"]

_STORE: Final = ("ok", "degraded", "read-only", "off")


class Exposition(Collector):
    """Sums and tries by backend, with the store as it is now; None is a store that is switched off."""

    def __init__(
        self,
        sums: Mapping[str, Sums],
        tries: Iterable[tuple[tuple[str, int], int]],
        *,
        health: Health | None,
        open_streams: int,
        version: str,
    ) -> None:
        self._sums = sums.items()
        self._tries = tries
        self._health = health
        self._open_streams = open_streams
        self._version = version

    def text(self) -> bytes:
        return generate_latest(self)

    def collect(self) -> Iterator[Metric]:
        yield from self._counted()
        yield from self._now()

    def _counted(self) -> Iterator[Metric]:
        sums = self._sums
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
            (((name, _class_of(status)), count) for (name, status), count in self._tries),
        )
        yield _times("clew_first_byte_seconds", "To the first content.", ((name, each.first_byte) for name, each in sums))
        yield _times("clew_request_seconds", "Whole exchanges.", ((name, each.seconds) for name, each in sums))

    def _now(self) -> Iterator[Metric]:
        health = self._health
        state = health.state if health else "off"
        yield _gauge("clew_open_streams", "Exchanges that are not over.", self._open_streams)
        states = {each: float(each == state) for each in _STORE}
        yield _gauges("clew_store_state", "1 for the state that the store is in.", "state", states)
        yield _gauge("clew_store_waiting", "Writes that wait for the store.", health.waiting if health else 0)
        yield _gauge("clew_store_wal_bytes", "Bytes in the store's log.", health.wal_bytes if health else 0)
        yield _gauges("clew_build_info", "The version that runs.", "version", {self._version: 1.0})


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


def _gauge(name: str, about: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, about, value=value)


def _gauges(name: str, about: str, label: str, values: Mapping[str, float]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, about, labels=(label,))
    for told, value in values.items():
        family.add_metric((told,), value)
    return family


def _class_of(status: int) -> str:
    return f"{status // 100}xx" if 100 <= status < 600 else "none"
