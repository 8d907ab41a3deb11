"""`make bench`, last part: what the gateway costs, beside nginx as a plain proxy, in one run.

The first column is clew as it comes: its config file names the backends and nothing else. The last is clew with its store
off. Everything runs against the same mock, in interleaved rounds; each round's CPU is divided by nginx's in that round, and
the median of these ratios is said with the least and the most (`measuring`, `figures`). Read the ratios; the times are one
machine's. nginx reads no JSON and keeps nothing, so no ratio can be 1.

On a machine that others kept busy, one round of all took five minutes, and the 10,000 turns of the row about memory seven
more for each kind of clew; a quiet one is faster. Lines on standard error say how far it is.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import nginx
import plot
import readme
from cases import BESIDE, CASES, FIRST, SESSION, Case
from columns import CLEW, NGINX, OFF, STORE_OFF, names_of, row_of
from extras import beside_rows, first_rows, idle_rows, lasting_rows, long_rows
from figures import Cell, Figures, Row, cost, keep, markdown, written
from grown import grow
from interpreters import ROOT, environment, named
from machine import Others
from measuring import Bench
from sessions import Sessions
from targets import clew, plain_proxy

GROWTH = 1.3
BUSY = 0.1
OUT = Path(__file__).parent / "out"
"""On the disk where the project is: where `/tmp` is memory, a commit would cost nothing."""


def gateways(folder: Path, pythons: Sequence[Path]) -> Bench:
    """clew as it comes, nginx, clew on other interpreters, and clew with its store off."""
    executable = _nginx()
    bench = Bench(folder, executable)
    plain = [plain_proxy(executable, folder, bench.backend)] if executable else []
    elsewhere = [clew(named(each), folder, bench.backend, source=ROOT, python=environment(each, OUT)) for each in pythons]
    bench.targets = [clew(CLEW, folder, bench.backend), *plain, *elsewhere]
    bench.targets.append(clew(OFF, folder, bench.backend, settings=STORE_OFF))
    return bench


def _nginx() -> Path | None:
    found = nginx.find(OUT / "nginx")
    if found is None:
        print(
            "There is no nginx to compare with, so there are no ratios. Install your distribution's (apt install nginx).\n"
        )
    return found


def case_row(bench: Bench, case: Case, spent: Callable[[str], list[float]]) -> Row:
    """What a case took on each target, which `spent` tells by its name."""
    base = spent(NGINX) if NGINX in names_of(bench) else None
    goals = {CLEW: case.goal, OFF: case.goal_off}

    def cell(name: str) -> Cell:
        return cost(found, None if name == NGINX else base, goals.get(name, 0.0)) if (found := spent(name)) else Cell()

    return Row(case.key, case.name, tuple(map(cell, names_of(bench))))


def session_rows(bench: Bench, sessions: Sessions) -> list[Row]:
    names = names_of(bench)
    growth = {name: sessions.growth(name) for name in names}
    return [
        case_row(bench, SESSION, sessions.spent),
        row_of("growth", "last turn of a session of 40, × its tenth", growth, names, "×", ".2f", GROWTH, GROWTH),
    ]


def case_rows(bench: Bench, cases: Sequence[Case]) -> list[Row]:
    return [case_row(bench, case, lambda name, case=case: bench.spent(case, name)) for case in cases]


def measured_sessions(bench: Bench, rounds: int) -> Sessions:
    """To be taken while stores have little."""
    sessions = Sessions(bench)
    for number in range(rounds):
        sessions.measure(number)
    return sessions


def figures(bench: Bench, given: argparse.Namespace) -> Figures:
    """Measure all that was asked for."""
    others, whole, cases = Others(), not given.only, chosen(given)
    with bench.all_running():
        extras = (
            [*long_rows(bench)] if whole else []
        )  # first, while stores are empty: what was deleted leaves room in a file
        sessions = session_rows(bench, measured_sessions(bench, given.rounds)) if wants_session(given) else []
        grow(bench, [*cases, *([BESIDE] if whole else [])])
        bench.interleaved([*cases, *([FIRST] if whole else [])], given.rounds, lambda: _direct(bench))
        extras += [*first_rows(bench), *beside_rows(bench)] if whole else []
    rows, extras = [*sessions[:1], *case_rows(bench, cases)], [*sessions[1:], *extras]
    extras += [*idle_rows(bench), *lasting_rows(bench)] if whole else []
    return Figures(names_of(bench), tuple(rows), tuple(extras), remark(given.rounds, others.share()))


def _direct(bench: Bench) -> None:
    """What nobody stands before."""
    bench.sample(FIRST, bench.direct, lambda: bench.loads.run(FIRST, bench.direct, FIRST.requests))


def remark(rounds: int, share: float) -> str:
    """What the figures are worth; `share` is how much of the machine others used."""
    times = "1 round" if rounds == 1 else f"{rounds} rounds"
    told = f"{times}; others used {share:.0%} of the {os.cpu_count()} cores meanwhile."
    return (
        told if share < BUSY else f"{told} **The machine was busy: this is a trial, and no figure of it can be relied on.**"
    )


def chosen(given: argparse.Namespace) -> list[Case]:
    """The cases that were asked for. Without openssl there is no certificate, and so no TLS."""
    wanted = [case for case in CASES if not given.only or case.key in given.only]
    return [case for case in wanted if not case.tls or shutil.which("openssl")]


def wants_session(given: argparse.Namespace) -> bool:
    return not given.only or SESSION.key in given.only


def add_options(options: argparse.ArgumentParser) -> None:
    """Those of every run beside nginx."""
    options.add_argument("--rounds", type=int, default=3)
    keys = [SESSION.key, *(case.key for case in CASES)]
    options.add_argument("--only", nargs="*", choices=keys, help="these cases, and no more")
    options.add_argument("--json", type=Path, help="also write the tables to this file, with each round, for machines")


def raise_limits() -> None:
    """A stream takes two files, and the load one more."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(options)
    options.add_argument(
        "--python",
        type=Path,
        action="append",
        default=[],
        metavar="PATH",
        help="also clew on this interpreter; may be repeated",
    )
    options.add_argument(
        "--keep", action="store_true", help="keep the tables and their plot in docs/numbers, and the main rows in README.md"
    )
    given = options.parse_args()
    if given.keep and given.only:
        options.error("--keep wants all cases")
    raise_limits()
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=OUT) as name:
        found = figures(gateways(Path(name), given.python), given)
    print(markdown(found))
    if given.json:
        given.json.write_text(written(found), "utf-8")
    if given.keep:
        keep(f"{plot.LINK}\n\n{markdown(found)}", "gateway.py --keep")
        readme.keep(found)
        plot.keep(found)


if __name__ == "__main__":
    main()
