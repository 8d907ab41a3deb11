"""`make bench-peers`: what others need for the same work, beside nginx and clew in one run.

LiteLLM and claude-code-router are installed for it; CLIProxyAPI and Bifrost take part where `CLIPROXYAPI` and `BIFROST` name
their programs (`peer_targets`). Each has its own defaults, and so has the first column of clew. What the bench of the
gateway says about reading its numbers holds here too.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from cases import CASES, FEW, Case
from columns import CLEW, NGINX, OFF, STORE_OFF
from figures import Cell, Figures, Row, keep, markdown, quotient, written
from gateway import OUT, case_row, raise_limits, remark
from machine import Others
from measuring import Bench
from nginx import find
from peer_targets import PEERS, PEERS_HOME, left_out
from targets import clew, plain_proxy

KEYS = ("json-many", "stream", "translated", "big", "paced-few", "translated-few")


def cases_for_peers() -> list[Case]:
    """The slow ones need fewer requests, and the same pace for all."""
    found = {case.key: case for case in CASES}
    few = {key: FEW if found[key].pace else 4 for key in KEYS}
    return [replace(found[key], name=found[key].name.replace("8 conn", "4 conn"), connections=few[key]) for key in KEYS]


def row(bench: Bench, case: Case) -> Row:
    """With how many times the CPU of clew as it comes the peers need."""
    told = case_row(bench, case, lambda name: bench.spent(case, name))
    own, spent = bench.spent(case, CLEW), {target.name: bench.spent(case, target.name) for target in bench.targets}
    cells = [
        cell
        if name in (CLEW, NGINX, OFF)
        else replace(cell, text=f"{_times(quotient(own, spent[name]))}× clew's; {cell.text}")
        for name, cell in zip(spent, told.cells, strict=True)
    ]
    return replace(told, cells=tuple(cells))


def _times(cell: Cell) -> str:
    ratio = cell.value or 0.0
    return f"{ratio:,.1f}" if ratio < 30 else f"{ratio:,.0f}"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--peers", nargs="*", choices=list(PEERS), default=list(PEERS))
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--only", nargs="*", choices=KEYS, help="these cases, and no more")
    options.add_argument("--json", type=Path, help="also write the table to this file, for machines")
    options.add_argument("--keep", action="store_true", help="keep the table in docs/numbers")
    given = options.parse_args()
    raise_limits()
    PEERS_HOME.mkdir(parents=True, exist_ok=True)
    executable = find(OUT / "nginx") or sys.exit("there is no nginx to compare with: apt install nginx")
    cases = [case for case in cases_for_peers() if not given.only or case.key in given.only]
    there: list[str] = []
    for name in given.peers:
        if why := left_out(name):
            print(why, file=sys.stderr)
        else:
            there.append(name)
    with tempfile.TemporaryDirectory(dir=OUT) as name:
        folder = Path(name)
        bench, others = Bench(folder, executable, {case.history for case in cases if case.history}, tls=False), Others()
        ours = [clew(CLEW, folder, bench.backend), plain_proxy(executable, folder, bench.backend)]
        ours.append(clew(OFF, folder, bench.backend, settings=STORE_OFF))
        bench.targets = [*ours, *(PEERS[name](folder, bench.backend) for name in there)]
        with bench.all_running():
            bench.interleaved(cases, given.rounds)
        names = tuple(target.name for target in bench.targets)
        found = Figures(names, tuple(row(bench, case) for case in cases), (), remark(given.rounds, others.share()))
    print(markdown(found))
    if given.json:
        given.json.write_text(written(found), "utf-8")
    if given.keep:
        keep(markdown(found), "peers.py --keep")


if __name__ == "__main__":
    main()
