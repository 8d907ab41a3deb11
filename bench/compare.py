"""`make bench-compare A=… B=…`: two commits beside each other in one run, so that the machine's mood hits both alike.

Each is checked out beside the other and runs with the parts that are installed here; the cases are those of the gateway's
bench. Every ratio is to the first commit.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from cases import CASES
from figures import Figures, markdown, written
from gateway import OUT, STORE_OFF, STORE_ON, case_row, chosen, raise_limits
from machine import Others
from measuring import Bench
from nginx import find
from targets import clew

ROOT = Path(__file__).parent.parent


@contextmanager
def checked_out(commit: str, folder: Path) -> Iterator[Path]:
    place = folder / f"source-{commit.replace('/', '-')}"
    _git("worktree", "add", "--quiet", "--detach", str(place), commit)
    try:
        yield place
    finally:
        _git("worktree", "remove", "--force", str(place))


def _git(*words: str) -> None:
    ran = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    if ran.returncode:
        sys.exit(f"git {' '.join(words)}: {ran.stderr.strip()}")


def compared(first: Path, second: Path, given: argparse.Namespace, folder: Path) -> Figures:
    cases = chosen(given)
    bench, others = Bench(folder, find(OUT / "nginx"), {case.history for case in cases if case.history}), Others()
    store = STORE_ON if given.store else STORE_OFF
    pairs = zip((given.first, given.second), (first, second), strict=True)
    bench.targets = [clew(name, folder, bench.backend, store=store, source=source) for name, source in pairs]
    bench.interleaved(cases, given.rounds)
    remark = f"{given.rounds} rounds; others used {others.share():.0%} of the {os.cpu_count()} cores meanwhile."
    return Figures((given.first, given.second), tuple(case_row(bench, case) for case in cases), (), remark)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("first", help="a commit")
    options.add_argument("second", help="another, or HEAD")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--store", action="store_true", help="with a store; else without")
    options.add_argument("--only", nargs="*", choices=[case.key for case in CASES], help="these cases, and no more")
    options.add_argument("--json", type=Path, help="also write the table to this file, for machines")
    given = options.parse_args()
    raise_limits()
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=OUT) as name:
        folder = Path(name)
        with checked_out(given.first, folder) as first, checked_out(given.second, folder) as second:
            found = compared(first, second, given, folder)
    print(markdown(found))
    if given.json:
        given.json.write_text(written(found), "utf-8")


if __name__ == "__main__":
    main()
