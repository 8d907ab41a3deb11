"""`make bench`, last part: what the gateway costs, beside nginx as a plain proxy, in one run.

Everything runs against the same mock, in interleaved rounds, and medians of CPU are compared (`measuring`). Read the ratios;
the microseconds are one machine's. nginx reads no JSON, so no ratio can be 1. What a store costs has rows of its own, beside
a bare SQLite commit of the same turn.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import nginx
import plot
from cases import ALONE, CASES, FIRST, Case
from commits import Commits, fill
from figures import Figures, Row, keep, markdown, written
from interpreters import ROOT, environment, named
from machine import Others
from measuring import Bench
from sessions import Sessions
from targets import Target, clew, plain_proxy

BURST = next(case for case in CASES if case.key == "stream")
OFF, ON, TWO = "clew", "clew with store", "clew, 2 workers"
STORE_OFF, STORE_ON = 'url = "off"', 'url = "sqlite"\nbodies = "off"'
IDLE_STREAMS = (1000, 4000)
SESSION_ROUNDS = 2
OUT = Path(__file__).parent / "out"
"""On the disk where the project is: where `/tmp` is memory, a commit would cost nothing."""


class Gateways:
    """nginx, and clew without and with a store."""

    def __init__(self, folder: Path, cases: list[Case], *, sessions: bool, pythons: list[Path]) -> None:
        executable = _nginx()
        self.bench = bench = Bench(folder, executable, {case.history for case in cases if case.history})
        self.sessions = Sessions(bench) if sessions else None
        self.commits = Commits(folder)
        plain = [plain_proxy(executable, folder, bench.backend)] if executable else []
        kept = clew(ON, folder, bench.backend, store=STORE_ON)
        for number, talk in enumerate(bench.histories.values()):
            fill(kept.folder / "clew.db", talk, f"bench-{number}-")
        bench.targets = [*plain, clew(OFF, folder, bench.backend, store=STORE_OFF), kept]
        bench.targets += [self._elsewhere(python) for python in pythons]

    def _elsewhere(self, python: Path) -> Target:
        """Without a store, on another interpreter."""
        made, bench = environment(python, OUT), self.bench
        return clew(named(python), bench.folder, bench.backend, store=STORE_OFF, source=ROOT, python=made)

    @property
    def names(self) -> list[str]:
        return [target.name for target in self.bench.targets]

    def between(self) -> None:
        """Once a round, what nginx has no part in."""
        bench = self.bench
        bench.sample(FIRST, bench.direct, lambda: bench.loads.run(FIRST, bench.direct, FIRST.requests))
        self.commits.batch()


def _nginx() -> Path | None:
    found = nginx.find(OUT / "nginx")
    if found is None:
        print(
            "There is no nginx to compare with, so there are no ratios. Install your distribution's (apt install nginx).\n"
        )
    return found


def case_row(bench: Bench, case: Case) -> Row:
    spent = [bench.median(case, name) if (case.key, name) in bench.samples else None for name in _names(bench)]
    cells = ("" if each is None else f"{each:,.0f} µs" for each in spent)
    return Row(case.name, tuple(cells), case.promise, ratios_of=tuple(spent))


def _names(bench: Bench) -> list[str]:
    return [target.name for target in bench.targets]


def extra_rows(gateways: Gateways) -> Iterator[Row]:
    """What is no CPU of one request."""
    bench, names = gateways.bench, gateways.names
    for share, goal in ((50, "≤ 1 ms; aim 0.5 ms"), (99, "aim 2 ms")):
        yield _first_row(bench, names, share, goal)
    memory, starts = bench.memory(IDLE_STREAMS), bench.starts()
    yield Row("at rest", tuple(f"{memory[name][0] / 1024:.0f} MB" for name in names), "< 80 MB; aim 45 MB")
    for place, count in enumerate(IDLE_STREAMS, 1):
        cells = tuple(f"{memory[name][place]:.1f} KB" for name in names)
        yield Row(f"for each of {count:,} idle streams", cells, "≤ 16 KB; aim 8 KB")
    cells = tuple(f"{statistics.median(starts[name]):.2f} s" for name in names)
    yield Row("listening after", cells, "< 0.6 s; aim 0.4 s")
    yield _writer_row(gateways)
    yield _commit_row(gateways)
    yield _added_row(gateways)


def _first_row(bench: Bench, names: list[str], share: int, goal: str) -> Row:
    def taken(name: str) -> float:
        return bench.median(FIRST, name, lambda sample: getattr(sample.found, f"content_p{share}"))

    added = (f"{(taken(name) - taken('direct')) / 1000:.2f} ms" for name in names)
    return Row(f"added time to first content, p{share}", tuple(added), goal)


def _writer_row(gateways: Gateways) -> Row:
    """What the store does for a turn in a thread of its own, in the running gateway: with some streams at a time beside
    bare commits in a row, and one stream after the other beside bare commits with a pause before each."""
    commits, cells = gateways.commits, list[str]()
    for case, taken in ((BURST, commits.at_once), (ALONE, commits.paused)):
        spent, bare = gateways.bench.median(case, ON, lambda s: s.aside_each), statistics.median(taken.bare)
        cells.append(f"{spent:,.0f} µs ({spent / bare:.2f}× of {bare:,.0f})")
    name = f"the store's commit, in its thread, × a bare one: {BURST.connections} streams at a time; one after the other"
    return _of_store(gateways, name, "; ".join(cells), "≤ 1.5×; aim 1.2×, if the commit alone is meant")


def _commit_row(gateways: Gateways) -> Row:
    """The part of it which is the transaction, in a process that does nothing else, beside a bare one of the same turn."""
    own, ratios = [], []
    for taken in (gateways.commits.at_once, gateways.commits.paused):
        own.append(statistics.median(taken.store))
        ratios.append(own[-1] / statistics.median(taken.bare))
    cell = f"{own[0]:,.0f} µs ({ratios[0]:.2f}×); {own[1]:,.0f} µs ({ratios[1]:.2f}×)"
    return _of_store(gateways, "its transaction by itself, × a bare one; the same after a pause", cell)


def _added_row(gateways: Gateways) -> Row:
    """All that a stream costs more with a store than without: to read what was relayed unread, to put its recording
    together, to hand it over, to commit it, and to hear of that."""
    cells, bench = list[str](), gateways.bench
    for case in (BURST, ALONE):
        more = bench.median(case, ON) - bench.median(case, OFF)
        cells.append(f"{more:,.0f} µs ({more / statistics.median(gateways.commits.at_once.bare):.2f}×)")
    name = "all that a stream costs more with a store, × a bare commit: at a time; one after the other"
    return _of_store(gateways, name, "; ".join(cells), "≤ 1.5×; aim 1.2×")


def _of_store(gateways: Gateways, name: str, cell: str, goal: str = "") -> Row:
    return Row(name, tuple(cell if target == ON else "" for target in gateways.names), goal)


def workers_rows(gateways: Gateways, rounds: int) -> Iterator[Row]:
    """Two processes on one port, beside one, both on all cores: they share these with the load."""
    bench = Bench(gateways.bench.folder, gateways.bench.nginx, tls=False)
    bench.targets = [_on_all(bench, OFF, 1), _on_all(bench, TWO, 2)]
    cases = [case for case in CASES if case.key in ("json", "stream")]
    bench.interleaved(cases, rounds)
    for case in cases:
        speeds = [bench.median(case, name, lambda s: s.found.done / s.found.seconds) for name in (OFF, TWO)]
        said = {OFF: f"{speeds[0]:,.0f}/s", ON: f"{speeds[1]:,.0f}/s with two workers ({speeds[1] / speeds[0]:.2f}×)"}
        yield Row(f"{case.name}: answers", tuple(said.get(name, "") for name in gateways.names), "")


def _on_all(bench: Bench, name: str, workers: int) -> Target:
    target = clew(name, bench.folder, bench.backend, store=STORE_OFF, workers=workers)
    target.cores = 2
    return target


def figures(gateways: Gateways, given: argparse.Namespace) -> Figures:
    """Measure all that was asked for."""
    bench, others, whole = gateways.bench, Others(), not given.only
    cases = chosen(given)
    bench.interleaved([*cases, *([ALONE, FIRST] if whole else [])], given.rounds, gateways.between if whole else _nothing)
    rows = [case_row(bench, case) for case in cases]
    extras: list[Row] = []
    if gateways.sessions:
        with bench.all_running():
            for number in range(min(given.rounds, SESSION_ROUNDS)):
                gateways.sessions.measure(1 + number * 1000)
        rows += gateways.sessions.rows()
    if whole:
        extras = [*extra_rows(gateways), *workers_rows(gateways, min(given.rounds, 3))]
    remark = f"{given.rounds} rounds; others used {others.share():.0%} of the {os.cpu_count()} cores meanwhile."
    return Figures(tuple(gateways.names), tuple(rows), tuple(extras), remark, compared=bench.nginx is not None)


def _nothing() -> None:
    """There is nothing to do between two rounds."""


def chosen(given: argparse.Namespace) -> list[Case]:
    """The cases that were asked for. Without openssl there is no certificate, and so no TLS."""
    wanted = [case for case in CASES if not given.only or case.key in given.only]
    return [case for case in wanted if not case.tls or shutil.which("openssl")]


def raise_limits() -> None:
    """A stream takes two files, and the load one more."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=5)
    names = [*(case.key for case in CASES), "sessions"]
    options.add_argument("--only", nargs="*", choices=names, help="these cases, and no more")
    options.add_argument(
        "--python",
        type=Path,
        action="append",
        default=[],
        metavar="PATH",
        help="also clew on this interpreter; may be repeated",
    )
    options.add_argument("--json", type=Path, help="also write the tables to this file, for machines")
    options.add_argument("--keep", action="store_true", help="keep the tables and their plot in docs/numbers")
    given = options.parse_args()
    raise_limits()
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=OUT) as name:
        with_sessions = not given.only or "sessions" in given.only
        found = figures(Gateways(Path(name), chosen(given), sessions=with_sessions, pythons=given.python), given)
    print(markdown(found))
    if given.json:
        given.json.write_text(written(found), "utf-8")
    if given.keep:
        keep(found, "gateway.py")
        plot.keep(found)


if __name__ == "__main__":
    main()
