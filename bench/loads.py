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
PLAIN = (
    "content-type: application/json",
    "anthropic-version: 2023-06-01",
    "user-agent: load",
    "accept: application/json",
)
"""What a client says that is no agent."""


@dataclass(frozen=True)
class Words:
    """What a load sends."""

    path: str
    body: Path
    headers: tuple[str, ...]


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
    """`histories` are by their sizes: what is sent where nothing else was put in."""

    def __init__(self, folder: Path, histories: dict[int, Talk]) -> None:
        self._folder = folder
        self._histories = histories
        self._executable = compiled(folder, "load")
        self._numbers = itertools.count(1, 1_000_000)
        self._given: dict[tuple[str, str], Words] = {}

    def put(self, case: Case, target: Target, body: bytes, path: str, headers: tuple[str, ...]) -> None:
        """What is sent to this target in this case."""
        file = self._folder / f"{case.key}-{len(self._given)}.json"
        file.write_bytes(body)
        self._given[case.key, target.name] = Words(path, file, headers)

    def run(self, case: Case, target: Target, requests: int, *, seconds: float = 25.0, first: int = 0) -> Load:
        """Send so many requests, and wait for the answers at most so long. Numbered from `first`, else by new numbers."""
        words = self._words(case, target)
        given = [target.port, words.path, words.body, case.connections, requests, seconds, first or next(self._numbers)]
        command = [*pin(1), str(self._executable), *map(str, given), *words.headers, *target.headers]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 20)
        if ran.returncode:
            sys.exit(f"the load on {target.name} failed: {ran.stderr}")
        return Load(**json.loads(ran.stdout))

    def _words(self, case: Case, target: Target) -> Words:
        if (case.key, target.name) not in self._given:
            body = traffic.body_of(case, target.model(case), self._histories.get(case.history))
            self.put(case, target, body, target.path(case), PLAIN)
        return self._given[case.key, target.name]
