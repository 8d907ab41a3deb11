"""`python bench/instructions.py`: instructions for one request, which do not depend on who else uses the machine.

`clew serve` runs with default settings, once with a counter of the interpreter's instructions (`opcode_counts`) and
once below valgrind, which counts the processor's in all that runs outside of the kernel. The first says by which
functions, the second also has what extensions and libraries take.

    python bench/instructions.py [--only session json-many …] [--store-off | --postgresql] [--top 40] [--processor]
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from tests.postgres import private_server

from cases import CASES, SESSION, Case
from claude_code import ClaudeCode
from columns import STORE_OFF
from gateway import OUT, raise_limits
from grown import grow
from machine import settle
from measuring import Bench
from sessions import FIRST_NUMBER, Caller, Session, answered
from targets import Target, clew

__all__ = ["Counted"]

SHOWN = ["session", "json-many", "stream", "translated", "big", "big-known"]
TURNS, MANY = 12, 4
"""Turns of a session that are counted, after as many; and sessions side by side."""
REQUESTS = 160
PUT_OFF = 6.0
"""Seconds of silence around a case: bodies wait for five of them."""
TOTAL = re.compile(r"^totals: (\d+)", re.M)


class Counted:
    """A gateway in which instructions are counted."""

    def __init__(self, folder: Path, bench: Bench, settings: str, *, processor: bool) -> None:
        self.target = clew("clew", folder, bench.backend, settings=settings)
        self.target.patience = 120.0
        self._folder, self._place, self._processor = folder, folder / "counts", processor
        place = "-" if processor else str(self._place)
        self.target.command[1:3] = [str(Path(__file__).parent / "opcode_counts.py"), place]
        if processor:
            out = f"--callgrind-out-file={folder / 'callgrind'}"
            valgrind = [shutil.which("valgrind") or sys.exit("valgrind is not installed"), "--tool=callgrind", out]
            self.target.command[:0] = [*valgrind, "--instr-atstart=no"]

    case = ""

    def begin(self, case: Case) -> None:
        self.case = case.key
        if self._processor:
            self._control("-i", "on")
            self._control("-z")
        else:
            self.taken()

    def taken(self) -> dict[tuple[str, str], Counter[str]]:
        """Calls and instructions by thread and function; those of the processor as one."""
        found: dict[tuple[str, str], Counter[str]] = {}
        if self._processor:
            self._control("-d")
            self._control("-i", "off")
            dump = max(self._folder.glob("callgrind.*"), key=lambda file: file.stat().st_mtime_ns)
            (OUT / f"callgrind.{self.case}").write_bytes(dump.read_bytes())
            [total] = TOTAL.findall(dump.read_text())
            found["all threads", "instructions of the processor"] = Counter(calls=0, instructions=int(total))
            return found
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(self._place))
            told = json.loads(connection.makefile().read())
        for thread, file, function, calls, instructions in told:
            key = (thread.rstrip("0123456789_"), f"{file.removeprefix('clew/')} {function}")
            found.setdefault(key, Counter()).update(calls=calls, instructions=instructions)
        return found

    def _control(self, *order: str) -> None:
        assert self.target.process is not None
        pid = self.target.pids[-1]
        subprocess.run(["callgrind_control", *order, str(pid)], check=True, capture_output=True, timeout=60)
        time.sleep(0.5)  # an order is carried out at the next instruction, which callgrind_control does not wait for


def count(bench: Bench, case: Case, counted: Counted, top: int) -> None:
    """Print what one request of this case takes."""
    target = counted.target
    if case.history:
        grow(bench, [case])
    sessions = _sessions(target, 0) if case is SESSION else []
    done = _load(bench, case, target, sessions)
    settle(target.pids, PUT_OFF)
    counted.begin(case)
    done = _load(bench, case, target, sessions)
    settle(target.pids, PUT_OFF)
    found = counted.taken()
    threads: Counter[str] = Counter()
    for (thread, _), each in found.items():
        threads[thread] += each["instructions"]
    print(f"\n{case.name}: {sum(threads.values()) / done:,.0f} instructions a request ({done} requests)")
    for thread, instructions in threads.most_common():
        print(f"  {instructions / done:12,.0f}  {thread}")
    for (thread, name), each in sorted(found.items(), key=lambda item: -item[1]["instructions"])[:top]:
        print(f"  {each['instructions'] / done:12,.1f} {each['calls'] / done:10,.1f} calls  {name} [{thread}]")
    sys.stdout.flush()


def _sessions(target: Target, first: int) -> list[Caller]:
    client = ClaudeCode(SESSION.answer)
    return [Caller(target, Session(client, FIRST_NUMBER + first + each)) for each in range(MANY)]


def _load(bench: Bench, case: Case, target: Target, sessions: list[Caller]) -> int:
    if sessions:
        return sum(answered(sessions).done for _ in range(TURNS))
    return bench.loads.run(case, target, REQUESTS, seconds=60.0).done


def main() -> None:
    cases = {SESSION.key: SESSION, **{case.key: case for case in CASES}}
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", nargs="*", choices=list(cases), default=SHOWN, help="these cases, and no more")
    options.add_argument("--store-off", action="store_true", help="with the store off")
    options.add_argument("--postgresql", action="store_true", help="with the store in a PostgreSQL of its own")
    options.add_argument("--processor", action="store_true", help="the processor's, by valgrind")
    options.add_argument("--top", type=int, default=0, help="so many functions of each case")
    given = options.parse_args()
    raise_limits()
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=OUT) as name, ExitStack() as stack:
        folder = Path(name)
        settings = STORE_OFF if given.store_off else ""
        if given.postgresql:
            settings = f'\n[store]\nurl = "{stack.enter_context(private_server()).create()}"\n'
        bench = Bench(folder, None, tls=False)
        counted = Counted(folder, bench, settings, processor=given.processor)
        bench.targets = [counted.target]
        with bench.all_running():
            for key in given.only:
                count(bench, cases[key], counted, given.top)


if __name__ == "__main__":
    main()
