"""What each process of a gateway has applied of the settings: one private file each, in the home's `run` directory.

A gateway is one process, or a parent and its workers. Each writes its report before it listens, and again after each change
that it took over, so whoever reads the reports knows what holds there. Beside its report each has a FIFO: one byte in it
wakes the process, and it looks for changes at once. A process that died leaves both behind; the next reader removes them.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct, structs

from clew.settings.digest import digest_of
from clew.settings.home import Home
from clew.settings.private_file import mapped
from clew.settings.running import Running, born_of, is_alive, running

__all__ = [
    "CHANGED",
    "FILE_WRITTEN",
    "Applied",
    "ProcessReport",
    "RunningGateway",
    "process_reports",
    "remove_report",
    "running_gateways",
    "wake",
    "wakeup_path",
    "write_report",
]

CHANGED: Final = b"c"
"""Wakes a process: something changed."""
FILE_WRITTEN: Final = b"f"
"""The same, and the settings file is written to its end: there is no need to wait until it is left alone."""

_REPORT: Final = ".process"
_WAKEUP: Final = ".wakeup"


class Applied(Struct, frozen=True, kw_only=True):
    """The settings that hold in a process."""

    file: str = ""
    """The settings file that it follows, also while there is none at that place."""
    config: str = ""
    """Digest of the file's content as it is in use; "" where there is no file."""
    looked_at: str = ""
    """Digest of the newest content. It differs from `config` where that content cannot be used; `problem` says why."""
    problem: str = ""
    choices: Mapping[str, str] = {}
    """What `clew use` chose for all gateways, as the store keeps it."""
    own_choices: Mapping[str, str] = {}
    """What it chose for this gateway alone."""
    pins: str = ""
    """How often the backend of a thread was chosen, as the store counts it."""
    active: str = ""
    """The backend that takes what no rule and no pin sends elsewhere."""
    active_from: str = ""
    backends: tuple[str, ...] = ()
    """Those that can be called."""
    disabled: Mapping[str, str] = {}
    """Those that cannot, and why."""
    seal_key: str = ""
    """The id of the key that new seals are made with."""
    seal_key_is_given: bool = False
    """By a variable of the process's environment: then no file changes it."""
    keys: str = ""
    """Digest of the table of named keys."""

    @property
    def generation(self) -> str:
        """Another one for each change of the file, the choices, the keys or the seal key that was taken over."""
        parts = (self.config, sorted(self.choices.items()), sorted(self.own_choices.items()), self.keys, self.seal_key)
        return digest_of(msgspec.json.encode(parts))

    @property
    def in_use(self) -> str:
        """The active backend; "" where it is not among those that are known here, so that requests get a 503."""
        return self.active if self.active in self.backends else ""


class ProcessReport(Struct, frozen=True, kw_only=True):
    """A process, and what it has applied. `applied` is None while it starts: then it has answered nobody yet."""

    gateway: str
    pid: int
    is_worker: bool = False
    generation: str = ""
    applied: Applied | None = None
    born: str = ""
    """When the system says that the process began; filled in by `write_report`."""


class RunningGateway(Running, frozen=True, kw_only=True):
    """A gateway and its processes."""

    processes: tuple[ProcessReport, ...] = ()

    @property
    def in_use(self) -> frozenset[str]:
        """The backends that its processes send to; "" among them where one answers 503. Nothing while all of them start."""
        return frozenset(each.applied.in_use for each in self.processes if each.applied)


def running_gateways(home: Home) -> list[RunningGateway]:
    """All that live, the oldest first."""
    reports = process_reports(home)
    return [
        RunningGateway(**structs.asdict(each), processes=tuple(own for own in reports if own.gateway == each.name))
        for each in running(home)
    ]


def write_report(home: Home, report: ProcessReport) -> None:
    """As a whole, and without waiting for the disk: after a power cut there is no process to report."""
    path = _path(home, report.gateway, report.pid, _REPORT)
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    raw = msgspec.json.encode(structs.replace(report, born=born_of(report.pid)))
    with mapped(path):
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(raw)
        fresh.replace(path)


def remove_report(home: Home, gateway: str, pid: int) -> None:
    """With the FIFO. They may be gone already."""
    for suffix in (_REPORT, _WAKEUP):
        with suppress(OSError):
            _path(home, gateway, pid, suffix).unlink()


def process_reports(home: Home) -> list[ProcessReport]:
    """Of all processes that live, by gateway, parents before workers."""
    with mapped(home.run):
        paths = sorted(home.run.glob(f"*{_REPORT}")) if home.run.is_dir() else []
    found = [report for path in paths if (report := _read(path))]
    for report in found:
        if not is_alive(report.pid, report.born):
            remove_report(home, report.gateway, report.pid)
    alive = [report for report in found if is_alive(report.pid, report.born)]
    return sorted(alive, key=lambda report: (report.gateway, report.is_worker, report.pid))


def wakeup_path(home: Home, gateway: str, pid: int) -> Path:
    """Where the process has its FIFO."""
    return _path(home, gateway, pid, _WAKEUP)


def wake(home: Home, report: ProcessReport, what: bytes = CHANGED) -> None:
    """Let it look for changes now. Where that is not possible it looks twice a second by itself."""
    with suppress(OSError):
        descriptor = os.open(wakeup_path(home, report.gateway, report.pid), os.O_WRONLY | os.O_NONBLOCK)
        try:
            os.write(descriptor, what)
        finally:
            os.close(descriptor)


def _path(home: Home, gateway: str, pid: int, suffix: str) -> Path:
    return home.run / f"{gateway}.{pid}{suffix}"


def _read(path: Path) -> ProcessReport | None:
    """None for one that is just being removed."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=ProcessReport)
    except (OSError, ValueError):
        return None
