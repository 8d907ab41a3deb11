"""`make bench`, second half: what the gateway costs, beside nginx as a plain proxy, in one run.

Everything runs against the same mock, in interleaved rounds (the order reversed every other one), and medians of CPU are
compared, so that a slow moment of the machine hits all alike. Read the ratios; the microseconds are one machine's. nginx
reads no JSON, so no ratio can be 1. The store's share is the difference between clew with and without one, beside a bare
SQLite commit of the same turn.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import nginx
import traffic
from commits import Commits, fill
from figures import Figures, Row, keep, markdown
from history import Talk
from machine import Others, cpu_of, pss_of, settle
from targets import Load, Target, build, clew, free_port, load, mock, plain_proxy, running

BASE, OFF, ON = "nginx", "clew", "clew with store"
STORE_OFF, STORE_ON = 'url = "off"', 'url = "sqlite"\nbodies = "off"'
PACE, SLOW_PACE = 10, 2000
STREAMS, IDLE_STREAMS = 50, 1000
STARTS = 5
OUT = Path(__file__).parent / "out"
"""On the disk where the project is: where `/tmp` is memory, a commit would cost nothing."""


@dataclass(frozen=True)
class Case:
    """One kind of load. Without a number of requests, as many as take about `SLICE` seconds."""

    name: str
    body: str
    connections: int = 8
    requests: int = 0
    most: float = 0.0
    """The ratio to nginx that is promised; 0: none is."""


SLICE = 0.6
CASES = (
    Case("small JSON", "json", most=3),
    Case("stream of 300 events, in one burst", "stream", most=4.5),
    Case(f"the same paced, {STREAMS * 1000 // PACE:,} events/s", "paced", STREAMS, STREAMS, most=1.5),
    Case("request of 1 MB, streamed answer", "big", most=9),
    Case("stream of 300 chunks, translated, in one burst", "translated", most=8),
    Case("the same paced", "translated-paced", STREAMS, STREAMS, most=1.6),
)
ALONE = Case("stream of 300 events, one after the other", "stream", connections=1)
FIRST = Case("time to first content", "short", connections=1, requests=300)


@dataclass(frozen=True)
class Sample:
    """One case on one target in one round."""

    cpu: float
    found: Load

    @property
    def each(self) -> float:
        """Microseconds of CPU for one request."""
        return self.cpu / self.found.done * 1e6


class Bench:
    """The files, the mock's port and the targets of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        build(folder)
        talk = Talk(1_000_000, foreign_every=0)
        traffic.write(folder, talk.raw)
        self.plain = _plain(folder, self.port)
        self.direct = Target(name="direct", port=self.port)
        self.clews = [clew(OFF, folder, self.port, store=STORE_OFF), clew(ON, folder, self.port, store=STORE_ON)]
        fill(self.clews[1].folder / "clew.db", talk)
        self.targets = ([self.plain] if self.plain else []) + self.clews
        self.commits = Commits(folder)
        self.samples: dict[tuple[str, str], list[Sample]] = {}

    def interleaved(self, cases: list[Case], rounds: int) -> None:
        """Every case on every target, round by round."""
        with mock(self.folder, self.port, pace=PACE), ExitStack() as stack:
            for target in self.targets:
                stack.enter_context(running(target))
            sizes = {(case, target.name): self._size(case, target) for case in cases for target in self.targets}
            for number in range(rounds):
                for case in cases:
                    for target in self.targets[:: -1 if number % 2 else 1]:
                        self._sample(case, target, sizes[case, target.name])
                if FIRST in cases:
                    self._sample(FIRST, self.direct, FIRST.requests)
                    self.commits.batch()

    def _size(self, case: Case, target: Target) -> int:
        """How many requests fill a slice; warms the target up on the way."""
        if case.requests:
            self._load(Case(case.name, "short", 2), target, 20)
            return case.requests
        self._load(case, target, 40)
        found = self._load(case, target, 2000, seconds=1.0)
        return max(8, int(found.done / found.seconds * SLICE))

    def _sample(self, case: Case, target: Target, requests: int) -> None:
        pids = target.pids
        settle(pids)
        before = cpu_of(pids)
        found = self._load(case, target, requests)
        settle(pids)
        spent = cpu_of(pids) - before
        if found.bad or not found.done:
            sys.exit(f"{target.name}, {case.name}: {found}")
        if sorted(target.pids) != sorted(pids):
            sys.exit(f"{target.name}: its processes changed while it was measured")
        self.samples.setdefault((case.name, target.name), []).append(Sample(spent, found))

    def _load(self, case: Case, target: Target, requests: int, seconds: float = 25.0) -> Load:
        return load(self.folder, target, case.body, connections=case.connections, requests=requests, seconds=seconds)

    def starts(self) -> dict[str, list[float]]:
        """Seconds from the start of each target until it listens."""
        taken: dict[str, list[float]] = {}
        for _ in range(STARTS):
            for target in self.targets:
                with running(target) as seconds:
                    taken.setdefault(target.name, []).append(seconds)
        return taken

    def memory(self) -> dict[str, tuple[float, float]]:
        """Kilobytes at rest, and for each of many streams that hardly ever say something."""
        found: dict[str, tuple[float, float]] = {}
        with mock(self.folder, self.port, pace=SLOW_PACE):
            for target in self.targets:
                with running(target):
                    found[target.name] = self._memory(target)
        return found

    def _memory(self, target: Target) -> tuple[float, float]:
        self._load(Case("", "short", 4), target, 40)
        time.sleep(1.0)
        rest = pss_of(target.pids)
        peak = _while(lambda: pss_of(target.pids), lambda: self._hold(target))
        return rest, (peak - rest) / IDLE_STREAMS

    def _hold(self, target: Target) -> None:
        case = Case("idle streams", "paced", IDLE_STREAMS)
        found = self._load(case, target, IDLE_STREAMS, seconds=8.0)
        if found.streaming != IDLE_STREAMS:
            sys.exit(f"{target.name} holds only {found.streaming} of {IDLE_STREAMS} streams: {found}")

    def median(self, case: Case, target: str, of: Callable[[Sample], float]) -> float:
        return statistics.median(of(sample) for sample in self.samples[case.name, target])


def _plain(folder: Path, port: int) -> Target | None:
    executable = nginx.find(OUT / "nginx")
    if executable is None:
        print(
            "There is no nginx to compare with, so there are no ratios. Install your distribution's (apt install nginx).\n"
        )
        return None
    return plain_proxy(executable, folder, port)


def _while(measure: Callable[[], float], act: Callable[[], None]) -> float:
    """The most that was measured while this was done in a thread."""
    thread = threading.Thread(target=act)
    thread.start()
    most = 0.0
    while thread.is_alive():
        most = max(most, measure())
        thread.join(0.5)
    return most


def figures(bench: Bench, given: argparse.Namespace) -> Figures:
    """Measure all that was asked for."""
    others = Others()
    chosen = [case for case in (*CASES, ALONE, FIRST) if not given.only or case.body in given.only]
    bench.interleaved(chosen, given.rounds)
    extras = () if given.only else tuple(extra_rows(bench))
    return Figures(
        names=tuple(target.name for target in bench.targets),
        cases=tuple(case_row(bench, case) for case in chosen if case.most),
        extras=extras,
        remark=f"{given.rounds} rounds; others used {others.share():.0%} of the {os.cpu_count()} cores meanwhile.",
    )


def case_row(bench: Bench, case: Case) -> Row:
    spent = [bench.median(case, target.name, lambda sample: sample.each) for target in bench.targets]
    return Row(case.name, tuple(f"{each:,.0f} µs" for each in spent), f"≤ {case.most:g}×", ratios_of=tuple(spent))


def extra_rows(bench: Bench) -> Iterator[Row]:
    """What is no CPU."""
    names = [target.name for target in bench.targets]
    direct = bench.median(FIRST, "direct", lambda sample: sample.found.content_p50)
    first = [bench.median(FIRST, name, lambda sample: sample.found.content_p50) - direct for name in names]
    yield Row("added time to first content, p50", tuple(f"{each / 1000:.2f} ms" for each in first), "≤ 1 ms")
    memory, starts = bench.memory(), bench.starts()
    yield Row("at rest", tuple(f"{memory[name][0] / 1024:.0f} MB" for name in names), "< 80 MB")
    yield Row("for each idle stream", tuple(f"{memory[name][1]:.1f} KB" for name in names), "≤ 16 KB")
    yield Row("listening after", tuple(f"{statistics.median(starts[name]):.2f} s" for name in names), "< 0.6 s")
    yield store_row(bench, names)


def store_row(bench: Bench, names: list[str]) -> Row:
    """One stream after the other, with and without a store, beside a bare commit of the same turn."""
    bare = statistics.median(bench.commits.taken)
    share = bench.median(ALONE, ON, lambda sample: sample.each) - bench.median(ALONE, OFF, lambda sample: sample.each)
    cells = {ON: f"{share:,.0f} µs ({share / bare:.2f}×)"}
    return Row(
        f"the store's share, × a bare commit of {bare:,.0f} µs", tuple(cells.get(name, "") for name in names), "≤ 1.5×"
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--only", nargs="*", choices=sorted({case.body for case in CASES}), help="these cases, and no more")
    options.add_argument("--json", type=Path, help="also write every sample to this file")
    options.add_argument("--keep", action="store_true", help="keep the tables in docs/numbers/speed.md")
    given = options.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=OUT) as name:
        bench = Bench(Path(name))
        found = figures(bench, given)
    print(markdown(found))
    if given.json:
        samples = {f"{case} · {target}": [asdict(each) for each in took] for (case, target), took in bench.samples.items()}
        given.json.write_text(json.dumps(samples, indent=1))
    if given.keep:
        keep(found)


if __name__ == "__main__":
    main()
