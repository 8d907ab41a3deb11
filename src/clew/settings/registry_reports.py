"""The table of the session policy as each process of a gateway has it, in a file beside the process's report.

The registry lives in the memory of its process. With `policy = "session"` the process writes the table when it polls for
settings, twice a second, if it has changed. So `clew status --blocks` shows it, and no gateway has to be asked.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Struct, structs

from clew.settings.home import Home
from clew.settings.processes import TABLE, is_alive, process_start, read_files, write_whole
from clew.thinking.registry.table import CacheStats, ThinkingRegistry

MOST_BLOCKS: Final = 1000
"""The newest of a table that are told; the counts are of all."""


class RegisteredBlock(Struct, frozen=True, kw_only=True):
    """A block in the table of the policy `session`."""

    hash: str
    """The beginning of its key, as the log has it."""
    session: int
    confirmed: bool
    complete: bool
    registered: float
    """Seconds since the epoch."""


class RegistryReport(Struct, frozen=True, kw_only=True):
    """The table of the policy `session`, as one process has it."""

    gateway: str
    pid: int
    at: float
    """When it was written."""
    backend: str
    session: int
    stats: CacheStats
    blocks: tuple[RegisteredBlock, ...] = ()
    born: str = ""
    """When the system says that the process began; filled in by `write_registry_report`."""


def report_of(registry: ThinkingRegistry, gateway: str, pid: int, *, now: float, wall: float) -> RegistryReport:
    """`now` is on the clock of the registry, `wall` the same moment since the epoch."""
    entries = sorted(registry.entries.items(), key=lambda each: each[1].registered_at)[-MOST_BLOCKS:]
    blocks = [
        RegisteredBlock(
            hash=key.hex()[:16],
            session=entry.session,
            confirmed=entry.confirmed,
            complete=entry.complete,
            registered=wall - (now - entry.registered_at),
        )
        for key, entry in entries
    ]
    return RegistryReport(
        gateway=gateway,
        pid=pid,
        at=wall,
        backend=registry.backend,
        session=registry.session,
        stats=registry.cache_stats(),
        blocks=tuple(blocks),
    )


def write_registry_report(home: Home, report: RegistryReport) -> None:
    raw = msgspec.json.encode(structs.replace(report, born=process_start(report.pid)))
    write_whole(home.run / f"{report.gateway}.{report.pid}{TABLE}", raw)


def registry_reports(home: Home) -> list[RegistryReport]:
    """The tables of all processes that run, in the order of their gateways."""
    alive: list[RegistryReport] = []
    for path, report in read_files(home, TABLE, RegistryReport):
        if report is not None and is_alive(report.pid, report.born):
            alive.append(report)
        elif report is not None:
            path.unlink(missing_ok=True)
    return sorted(alive, key=lambda report: (report.gateway, report.pid))
