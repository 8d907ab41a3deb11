"""Which gateways run, and which settings each of their processes has applied: private files in the home's `run` directory.

A gateway has one file; each of its processes (one, or a parent and its workers) has a report, written before it listens and
after each change that it applied, and a FIFO: one byte in it wakes the process, and it looks for changes at once. What a
dead process leaves behind is removed by the next reader. A process number can be used again, so the moment at which it began
is kept beside it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

import msgspec
from msgspec import Struct, structs

from clew.errors import SettingsInvalid
from clew.settings.home import CONFIG_VARIABLE, Home, digest_of, raising_settings_errors, write_private

CHANGED: Final = b"c"
"""Wakes a process: something changed."""
FILE_WRITTEN: Final = b"f"
"""Wakes a process: the settings file is written to its end, so there is no need to wait until it is left alone."""

_GATEWAY: Final = ".json"
_REPORT: Final = ".process"
_WAKEUP: Final = ".wakeup"
TABLE: Final = ".blocks"
_ENDED: Final = (b"Z", b"X")
"""States of a process that has ended, while its parent has not asked how."""

T = TypeVar("T")


class RegisteredGateway(Struct, frozen=True, kw_only=True):
    """A gateway, and how to reach it."""

    pid: int
    url: str
    """Where clients go."""
    admin_url: str = ""
    socket: str = ""
    """The admin's unix socket."""
    started: float = 0.0
    """Seconds since the epoch."""
    name: str = ""
    """As `--gateway` says it; the process number if nothing else was given."""
    choice: str = ""
    """The backend that it was told to begin with, for itself alone."""
    model: str = ""
    """The model that this backend is asked for, whatever clients name; "" where the settings say it."""
    config: str = ""
    """Its settings file; "" if it has none."""
    born: str = ""
    """When the system says that the process began; filled in by `register`."""


class AppliedSettings(Struct, frozen=True, kw_only=True):
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
    limits: str = ""
    """Digest of the limits."""

    @property
    def generation(self) -> str:
        """Another text for each change of the file, the choices, the keys or the seal key that was applied."""
        parts = (self.config, sorted(self.choices.items()), sorted(self.own_choices.items()), self.keys, self.seal_key)
        return digest_of(msgspec.json.encode(parts))

    @property
    def in_use(self) -> str:
        """The active backend; "" if this process does not have it, so that its requests get a 503."""
        return self.active if self.active in self.backends else ""


class ProcessReport(Struct, frozen=True, kw_only=True):
    """A process, and what it has applied. `applied` is None while it starts: then it has answered no request yet."""

    gateway: str
    pid: int
    is_worker: bool = False
    generation: str = ""
    applied: AppliedSettings | None = None
    born: str = ""
    """When the system says that the process began; filled in by `write_report`."""


class RunningGateway(RegisteredGateway, frozen=True, kw_only=True):
    """A gateway of this home, with its processes."""

    processes: tuple[ProcessReport, ...] = ()

    @property
    def in_use(self) -> frozenset[str]:
        """The backends that its processes send to; "" among them where one answers 503. Empty while all of them start."""
        return frozenset(each.applied.in_use for each in self.processes if each.applied)


def register(home: Home, gateway: RegisteredGateway) -> RegisteredGateway:
    """Enter a gateway. Its name is its number unless it has one; it replaces a dead gateway of the same name."""
    entered = structs.replace(gateway, name=gateway.name or str(gateway.pid), born=process_start(gateway.pid))
    home.make()
    write_private(home.run / f"{entered.name}{_GATEWAY}", msgspec.json.encode(entered))
    return entered


def unregister(home: Home, gateway: RegisteredGateway) -> None:
    """Remove a gateway; it may be gone already."""
    with suppress(OSError):
        (home.run / f"{gateway.name or gateway.pid}{_GATEWAY}").unlink()


def registered_gateways(home: Home) -> list[RegisteredGateway]:
    """All that live, the oldest first. The files of dead gateways are removed, and unreadable ones."""
    alive: list[RegisteredGateway] = []
    for path in _files(home, _GATEWAY):
        gateway = _read(path, RegisteredGateway)
        if gateway is not None and is_alive(gateway.pid, gateway.born):
            alive.append(gateway)
            continue
        for each in (path, Path(gateway.socket) if gateway and gateway.socket else path):
            with suppress(OSError):
                each.unlink()
    return sorted(alive, key=lambda gateway: (gateway.started, gateway.pid))


def running_gateways(home: Home) -> list[RunningGateway]:
    """All gateways of this home that run, with their processes, the oldest first."""
    reports = process_reports(home)
    return [
        RunningGateway(**structs.asdict(each), processes=tuple(own for own in reports if own.gateway == each.name))
        for each in registered_gateways(home)
    ]


def config_in_use(home: Home, environ: Mapping[str, str]) -> Path | None:
    """The settings file of the gateways that run here, if they all have the same one and the environment names no other."""
    if environ.get(CONFIG_VARIABLE, "").strip():
        return None
    try:
        files = {gateway.config for gateway in registered_gateways(home)}
    except SettingsInvalid:  # reported where the settings are read
        return None
    return Path(*files) if len(files) == 1 and all(files) else None


def write_report(home: Home, report: ProcessReport) -> None:
    """Write it as a whole, and without waiting for the disk: after a power cut there is no process to report."""
    raw = msgspec.json.encode(structs.replace(report, born=process_start(report.pid)))
    write_whole(home.run / f"{report.gateway}.{report.pid}{_REPORT}", raw)


def write_whole(path: Path, raw: bytes) -> None:
    """Write a private file, so that a reader finds the old content or the new, and nothing between."""
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    with raising_settings_errors(path):
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(raw)
        fresh.replace(path)


def remove_report(home: Home, gateway: str, pid: int) -> None:
    """Remove a report, its FIFO and the table of the session policy. They may be gone already."""
    for suffix in (_REPORT, _WAKEUP, TABLE):
        with suppress(OSError):
            (home.run / f"{gateway}.{pid}{suffix}").unlink()


def process_reports(home: Home) -> list[ProcessReport]:
    """Of all processes that live, by gateway, parents before workers."""
    alive: list[ProcessReport] = []
    for _, report in read_files(home, _REPORT, ProcessReport):
        if report is not None and is_alive(report.pid, report.born):
            alive.append(report)
        elif report is not None:
            remove_report(home, report.gateway, report.pid)
    return sorted(alive, key=lambda report: (report.gateway, report.is_worker, report.pid))


def wakeup_path(home: Home, gateway: str, pid: int) -> Path:
    """The FIFO that wakes the process."""
    return home.run / f"{gateway}.{pid}{_WAKEUP}"


def wake(home: Home, report: ProcessReport, what: bytes = CHANGED) -> None:
    """Let a process look for changes now. Where that is not possible it looks twice a second by itself."""
    with suppress(OSError):
        descriptor = os.open(wakeup_path(home, report.gateway, report.pid), os.O_WRONLY | os.O_NONBLOCK)
        try:
            os.write(descriptor, what)
        finally:
            os.close(descriptor)


def read_files(home: Home, suffix: str, type: type[T]) -> list[tuple[Path, T | None]]:
    """The files of the `run` directory with this ending; None for one that cannot be read."""
    return [(path, _read(path, type)) for path in _files(home, suffix)]


def _files(home: Home, suffix: str) -> list[Path]:
    with raising_settings_errors(home.run):
        return sorted(home.run.glob(f"*{suffix}")) if home.run.is_dir() else []


def _read(path: Path, type: type[T]) -> T | None:
    """None for a file that is just being removed, or that cannot be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=type)
    except (OSError, ValueError):
        return None


def is_alive(pid: int, born: str) -> bool:
    """Whether a process of this number runs and began at this time."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return not born or process_start(pid) == born


def process_start(pid: int) -> str:
    """The process's start in the kernel's own ticks; "" where the system does not say, or where the process has ended."""
    try:
        raw = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return ""
    fields = raw.rpartition(b")")[2].split()
    return "" if fields[0] in _ENDED else fields[19].decode()
