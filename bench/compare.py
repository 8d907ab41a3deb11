"""`make bench-compare A=… B=…`: two commits beside nginx in one run, so that the machine's mood hits all three alike.

Each is checked out beside the other and runs with the parts that are installed here, as it comes; the cases are those of the
gateway's bench, a session first. `B ÷ A` is taken round by round, and said with the least and the most of all rounds. The
same commit twice says what noise is: what two commits differ by means something where it is more than that.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from cases import SESSION, Case
from columns import NGINX, STORE_OFF, names_of
from figures import Cell, Figures, Row, cost, keep, markdown, quotient, written
from gateway import OUT, add_options, chosen, measured_sessions, raise_limits, remark, wants_session
from grown import grow
from machine import Others
from measuring import Bench
from nginx import find
from targets import clew, plain_proxy

ROOT = Path(__file__).parent.parent
TWICE, TWO = "compare.py --keep, one commit twice", "compare.py --keep, two commits"
"""Where each is kept."""


@contextmanager
def checked_out(commit: str, name: str, folder: Path) -> Iterator[Path]:
    place = folder / f"source-{name}"
    _git("worktree", "add", "--quiet", "--detach", str(place), commit)
    try:
        yield place
    finally:
        _git("worktree", "remove", "--force", str(place))


def _git(*words: str) -> str:
    ran = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    if ran.returncode:
        sys.exit(f"git {' '.join(words)}: {ran.stderr.strip()}")
    return ran.stdout.strip()


def short(commit: str) -> str:
    return _git("rev-parse", "--short", f"{commit}^{{commit}}")


def compared(pairs: list[tuple[str, str]], bench: Bench, given: argparse.Namespace) -> Figures:
    """`pairs` are the names of targets that belong together: both as they come, both with their stores off."""
    others, cases = Others(), chosen(given)
    rows: list[Row] = []
    with bench.all_running():
        if wants_session(given):
            rows.append(row(bench, SESSION, pairs, measured_sessions(bench, given.rounds).spent))
        grow(bench, cases)
        bench.interleaved(cases, given.rounds)
    rows += [row(bench, case, pairs, lambda name, case=case: bench.spent(case, name)) for case in cases]
    first, *more = ((a, b, f"{b} ÷ {a}") for a, b in pairs)
    names = (*first, NGINX, *(name for three in more for name in three))
    return Figures(names, tuple(rows), (), remark(given.rounds, others.share()))


def row(bench: Bench, case: Case, pairs: list[tuple[str, str]], spent: Callable[[str], list[float]]) -> Row:
    base = spent(NGINX) if NGINX in names_of(bench) else None
    first, *more = ([*(cost(spent(name), base) for name in pair), quotient(*map(spent, pair))] for pair in pairs)
    beside = Cell() if base is None else cost(base, None)
    return Row(case.key, case.name, (*first, beside, *(cell for three in more for cell in three)))


def targets(bench: Bench, folder: Path, sources: dict[str, Path], *, off: bool) -> list[tuple[str, str]]:
    """Put into the bench; and the pairs of their names."""
    a, b = sources
    pairs = [(a, b), (f"{a}, store off", f"{b}, store off")] if off else [(a, b)]
    for (first, second), settings in zip(pairs, ("", STORE_OFF), strict=False):
        for name, source in zip((first, second), sources.values(), strict=True):
            bench.targets.append(clew(name, folder, bench.backend, settings=settings, source=source))
    if bench.nginx:
        bench.targets.append(plain_proxy(bench.nginx, folder, bench.backend))
    return pairs


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("first", help="a commit")
    options.add_argument("second", help="another, or the same")
    add_options(options)
    options.add_argument("--store-off", action="store_true", help="also both with their stores off")
    options.add_argument("--keep", action="store_true", help="keep the table in docs/numbers")
    given = options.parse_args()
    first, second = short(given.first), short(given.second)
    raise_limits()
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=OUT) as name:
        folder = Path(name)
        with checked_out(first, "A", folder) as a, checked_out(second, "B", folder) as b:
            bench = Bench(folder, find(OUT / "nginx"))
            pairs = targets(bench, folder, {"A": a, "B": b}, off=given.store_off)
            found = compared(pairs, bench, given)
    text = f"A is {first}, B is {second}, each as it comes.\n\n{markdown(found)}"
    print(text)
    if given.json:
        given.json.write_text(written(found), "utf-8")
    if given.keep:
        keep(text, TWICE if first == second else TWO)


if __name__ == "__main__":
    main()
