"""What a worker tells its parent about itself, so that the admin can speak for all of them.

The numbers that a process has to itself: exchanges under way, and how its own writer of the store fares. All else that the
admin shows is in the store, where workers meet. A worker looks when it glances at its settings, twice a second, and writes a
line if something changed: no request pays for it, no clock runs for it, and the admin is late by half a second at most.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Final

import msgspec
from msgspec import Struct

from clew.store.values import Health

__all__ = ["Report", "as_one", "read_report", "reporting"]

_STATES: Final[Sequence[str]] = ("ok", "degraded", "read-only")
"""The worst last."""


class Report(Struct, frozen=True, kw_only=True):
    """One worker, as it was a moment ago."""

    running: int = 0
    """Exchanges under way."""
    store: Health | None = None
    """None: switched off."""


def read_report(line: bytes) -> Report | None:
    """None for what is no report: a library may print something."""
    with suppress(msgspec.DecodeError):
        return msgspec.json.decode(line, type=Report)
    return None


def as_one(healths: Iterable[Health]) -> Health:
    """Of one store, as several processes find it: as bad as for the worst, and all that waits. Its log is one file."""
    found = tuple(healths)
    worst = max(found, key=lambda health: _STATES.index(health.state))
    return Health(
        state=worst.state,
        why=worst.why,
        warning=next((each.warning for each in found if each.warning), ""),
        waiting=sum(each.waiting for each in found),
        wal_bytes=max(each.wal_bytes for each in found),
        skipped=sum(each.skipped for each in found),
    )


def reporting(look: Callable[[], Report], pipe: int) -> Callable[[], None]:
    """To be called again and again: tells what `look` finds, if it is news. A parent that does not read holds nobody up."""
    os.set_blocking(pipe, False)
    told = Report()

    def report() -> None:
        nonlocal told
        now = look()
        if now != told and _wrote(pipe, msgspec.json.encode(now) + b"\n"):
            told = now

    return report


def _wrote(pipe: int, line: bytes) -> bool:
    """A line is short, so a pipe takes all of it or nothing."""
    with suppress(OSError):
        os.write(pipe, line)
        return True
    return False
