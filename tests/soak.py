"""The long run: `python -m tests.soak [GROUP…]` (`make soak`: all groups).

Runs the slow and property tests again with CLEW_SOAK=1, which gives them their full counts, group by group, and prints what
they noted (`tests.numbers`) as a table: numbers of one name are added up. The exit status is that of the tests.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent

GROUPS = {
    "streams": ["tests/wire", "tests/model"],
    "projection": ["tests/pipeline", "tests/dialects", "tests/properties"],
    "fuzz": ["tests/fuzz"],
    "identity": ["tests/identity", "tests/thinking"],
    "simulator": ["tests/simulator", "tests/http", "tests/testing"],
    "gateway": ["tests/engine", "tests/gateway", "tests/faults", "tests/chaos", "tests/clients"],
    "conversations": ["tests/chat", "tests/store", "tests/conversations"],
    "pages": ["tests/admin", "tests/web", "tests/browser"],
    "the rest": ["tests"],
}
"""What is tested together; the last group has everything that no other names."""


class Ran(NamedTuple):
    group: str
    status: int
    seconds: float
    summary: str


class Number(NamedTuple):
    group: str
    name: str
    value: float | str


def main(chosen: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("group", nargs="*", metavar="GROUP", help=f"of {', '.join(GROUPS)}; all of them if none is named")
    wanted = parser.parse_args(chosen).group or list(GROUPS)
    if unknown := [name for name in wanted if name not in GROUPS]:
        parser.error(f"there is no group {unknown[0]!r}; there are: {', '.join(GROUPS)}")
    ran: list[Ran] = []
    numbers: list[Number] = []
    with tempfile.TemporaryDirectory() as folder:
        for group, paths in ((name, GROUPS[name]) for name in wanted):
            file = Path(folder) / f"{len(ran)}.jsonl"
            if arguments := _arguments(paths):  # without any, pytest would run everything
                ran.append(_run(group, arguments, file))
            numbers += [Number(group, *each) for each in totals(_lines(file))]
    sys.stdout.write(table(ran, numbers))
    return max(each.status for each in ran)


def _arguments(paths: list[str]) -> list[str]:
    there = [path for path in paths if (ROOT / path).exists()]
    if paths != ["tests"]:
        return there
    named = [path for group in GROUPS.values() for path in group if path != "tests"]
    return ["tests", *(f"--ignore={path}" for path in named)]


def _run(group: str, arguments: list[str], file: Path) -> Ran:
    sys.stdout.write(f"── {group}\n")
    env = os.environ | {"CLEW_SOAK": "1", "CLEW_NUMBERS": str(file)}
    options = ["-q", "-n", os.environ.get("JOBS", "2"), "--timeout", "3600", "--durations", "5"]
    began = time.monotonic()
    last = ""
    with subprocess.Popen(
        [sys.executable, "-m", "pytest", *options, *arguments], cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True
    ) as pytest:
        for line in pytest.stdout or ():  # as it comes: a group can take a quarter of an hour
            sys.stdout.write(line)
            sys.stdout.flush()
            last = line.strip("= \n") or last
    return Ran(group, pytest.returncode, time.monotonic() - began, last)


def _lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


def totals(lines: Iterable[str]) -> list[tuple[str, float | str]]:
    """Numbers of one name added up, in order of first appearance; of words, the last."""
    found: dict[str, float | str] = {}
    for line in lines:
        entry = json.loads(line)
        name, value = entry["name"], entry["value"]
        before = found.get(name, 0)
        found[name] = value if isinstance(value, str) or isinstance(before, str) else before + value
    return list(found.items())


def table(ran: Iterable[Ran], numbers: Iterable[Number]) -> str:
    rows = [(each.group, each.name, _said(each.value)) for each in numbers]
    rows += [(each.group, "pytest", f"{each.summary} ({'ok' if each.status == 0 else 'FAILED'})") for each in ran]
    widths = [max(len(row[i]) for row in rows) for i in range(2)]
    return "\n" + "".join(f"{group.ljust(widths[0])}  {name.ljust(widths[1])}  {value}\n" for group, name, value in rows)


def _said(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
