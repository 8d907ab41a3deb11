"""The load: compiled once, run for each case on each target; and the files that it sends."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import traffic
from cases import Case
from history import Talk
from machine import pin
from targets import Target

__all__ = ["Load", "Loads", "compiled"]

HERE = Path(__file__).parent / "wire"


@dataclass(frozen=True)
class Load:
    """What one load found; times in microseconds."""

    done: int
    failed: int
    refused: int
    unfinished: int
    streaming: int
    seconds: float
    events: int
    bytes: int
    time_p50: int
    time_p99: int
    content_p50: int
    content_p99: int

    @property
    def bad(self) -> int:
        return self.failed + self.refused + self.unfinished


def compiled(folder: Path, name: str) -> Path:
    """The mock or the load. Exits with what is missing."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None or sys.platform != "linux":
        sys.exit("the gateway's bench needs Linux and a C compiler (cc): its mock and its load must cost next to nothing")
    made = folder / name
    subprocess.run([compiler, "-O2", "-o", str(made), str(HERE / f"{name}.c")], check=True)
    return made


class Loads:
    """`histories` are by their sizes."""

    def __init__(self, folder: Path, histories: dict[int, Talk]) -> None:
        self._folder = folder
        self._histories = histories
        self._executable = compiled(folder, "load")
        self._numbers = itertools.count(1, 1_000_000)
        self._bodies: dict[tuple[str, str], Path] = {}

    def run(self, case: Case, target: Target, requests: int, *, seconds: float = 25.0, first: int = 0) -> Load:
        """Send so many requests, and wait for the answers at most so long. Numbered from `first`, else by new numbers."""
        return self.send(self._body(case, target), case, target, requests, seconds=seconds, first=first)

    def send(self, body: Path, case: Case, target: Target, requests: int, *, seconds: float = 25.0, first: int = 0) -> Load:
        """The same with these words."""
        given = [target.port, target.path(case), body, case.connections, requests, seconds, first or next(self._numbers)]
        command = [*pin(1), str(self._executable), *map(str, given), *target.headers]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 20)
        if ran.returncode:
            sys.exit(f"the load on {target.name} failed: {ran.stderr}")
        return Load(**json.loads(ran.stdout))

    def _body(self, case: Case, target: Target) -> Path:
        model = target.model(case)
        if (case.key, model) not in self._bodies:
            file = self._folder / f"{case.key}-{len(self._bodies)}.json"
            file.write_bytes(traffic.body_of(case, model, self._histories.get(case.history)))
            self._bodies[case.key, model] = file
        return self._bodies[case.key, model]
