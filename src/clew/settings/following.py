"""Whether every process of every gateway has applied a change that a command, or a page, has just made.

All are woken and then waited for, two seconds at most. Each is judged by its own report (`clew.settings.processes`), against
what the files and the store say now. A process that cannot apply the change is named, with the reason and with what helps;
so is one that has not applied it in time. One that is starting looks for changes before it answers anybody: it is waited
for as the others are, and is not behind.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias

from msgspec import Struct

from clew.settings.digest import file_digest
from clew.settings.home import Home
from clew.settings.processes import CHANGED, FILE_WRITTEN, Applied, ProcessReport, process_reports, wake
from clew.settings.running import Running, running

__all__ = [
    "Behind",
    "Followed",
    "choice_followed",
    "file_followed",
    "how_to_apply",
    "keys_followed",
    "pin_followed",
    "seal_key_followed",
    "unknown_backend",
]

MOST_SECONDS: Final = 2.0
_PAUSE: Final = 0.01


class Behind(Struct, frozen=True, kw_only=True):
    """A process that has not applied the change."""

    gateway: str
    pid: int
    why: str
    fix: str


class Followed(Struct, frozen=True, kw_only=True):
    """What became of a change: how many gateways were asked, and which of their processes have not applied it."""

    gateways: int = 0
    behind: tuple[Behind, ...] = ()


class _State(Struct, frozen=True):
    """Whether one process has applied it. Where it has not, and no reason is known, it may still do so."""

    has: bool
    why: str = ""
    fix: str = ""


_HAS: Final = _State(True)
_WAITS: Final = _State(False)

_Judge: TypeAlias = Callable[[str, Applied], _State]
"""Of a gateway's name, and what a process of it has applied."""


def file_followed(home: Home, file: Path, *, added: str = "") -> Followed:
    """The settings file was written. `added` is a backend that is new in it."""

    def judge(gateway: str, applied: Applied) -> _State:
        if Path(applied.file) != file.absolute():
            return _HAS  # it goes by another file
        if file_digest(file) != applied.looked_at:
            return _WAITS
        if applied.problem:
            return _State(False, _rejected(applied), how_to_apply(applied))
        return _knows(applied, added) if added else _HAS

    return _followed(home, judge, what=FILE_WRITTEN)


def keys_followed(home: Home) -> Followed:
    """A named key was added, removed or changed."""
    return _followed(home, lambda gateway, applied: _State(applied.keys == file_digest(home.keys)))


def seal_key_followed(home: Home, current: str) -> Followed:
    """New seals are made with the key of this id."""

    def judge(gateway: str, applied: Applied) -> _State:
        if applied.seal_key != current and applied.seal_key_is_given:
            return _State(False, "its secret is CLEW_SECRET of its own environment", "change that variable and restart it")
        return _State(applied.seal_key == current)

    return _followed(home, judge)


def choice_followed(
    home: Home, kept: Callable[[str], Mapping[str, str]], *, gateway: str = "", of_part: str | None = None
) -> Followed:
    """A choice was written to the store, for all gateways or for one. `kept` gives what the store has for all (""), or for
    the gateway of a name. `of_part` is the backend for a part of the requests ("": as all others), None for all of them."""

    def judge(name: str, applied: Applied) -> _State:
        if applied.choices != kept("") or applied.own_choices != kept(name):
            return _WAITS
        backend = applied.active if of_part is None else of_part
        return _knows(applied, backend) if backend else _HAS

    return _followed(home, judge, gateway=gateway)


def pin_followed(home: Home, backend: str, pins: str) -> Followed:
    """A thread stays with this backend ("": with none), and the store counts this many such choices (`refresh`). Each
    process has to hear of it, and to know the backend."""

    def judge(gateway: str, applied: Applied) -> _State:
        if applied.pins != pins:
            return _WAITS
        return _knows(applied, backend) if backend else _HAS

    return _followed(home, judge)


def unknown_backend(applied: Applied, backend: str) -> str:
    """Why a process does not know a backend that was chosen."""
    why = f"there is none of this name in {applied.file}"
    if backend in applied.disabled:
        why = f"in its environment, {applied.disabled[backend]}"
    elif applied.problem:
        why = _rejected(applied)
    return f"it does not know the backend {backend}: {why}"


def _knows(applied: Applied, backend: str) -> _State:
    if backend in applied.backends:
        return _HAS
    if file_digest(Path(applied.file)) != applied.looked_at:
        return _WAITS  # the file says more than it has read yet
    return _State(False, unknown_backend(applied, backend), how_to_apply(applied, backend))


def _rejected(applied: Applied) -> str:
    return f"it rejected the new {applied.file}: {applied.problem}"


def how_to_apply(applied: Applied, backend: str = "") -> str:
    """What helps a process that could not use a file, or cannot call a backend. Only where it is started can a variable be
    set."""
    if backend in applied.disabled:
        return (
            'restart this gateway where the variable is set, or name a file for the key in the settings (key = "file:/path")'
        )
    if applied.problem:
        return "correct the file; or set what is missing where this gateway was started, and restart it there"
    return f"add the backend to {applied.file}, or choose one that this gateway has: {', '.join(applied.backends)}"


def _followed(home: Home, judge: _Judge, *, gateway: str = "", what: bytes = CHANGED) -> Followed:
    for report in _reports(home, gateway):
        wake(home, report, what)
    end = time.monotonic() + MOST_SECONDS
    while True:
        states = [(report, _state(report, judge)) for report in _reports(home, gateway)]
        if time.monotonic() >= end or not any(state == _WAITS for _, state in states):
            break
        time.sleep(_PAUSE)
    there = [each for each in running(home) if gateway in ("", each.name)]
    behind = (*(_behind(report, state) for report, state in states if _is_behind(report, state)), *_silent(there, states))
    return Followed(gateways=len(there), behind=behind)


def _reports(home: Home, gateway: str) -> list[ProcessReport]:
    return [report for report in process_reports(home) if gateway in ("", report.gateway)]


def _state(report: ProcessReport, judge: _Judge) -> _State:
    return judge(report.gateway, report.applied) if report.applied else _WAITS


def _is_behind(report: ProcessReport, state: _State) -> bool:
    return report.applied is not None and not state.has


def _behind(report: ProcessReport, state: _State) -> Behind:
    why = state.why or f"it has not applied the change within {MOST_SECONDS:.0f} s"
    fix = state.fix or f"look with `clew status` whether it has by now; if it hangs, end process {report.pid} and restart it"
    return Behind(gateway=report.gateway, pid=report.pid, why=why, fix=fix)


def _silent(there: Iterable[Running], states: Iterable[tuple[ProcessReport, _State]]) -> Iterator[Behind]:
    """Gateways that are registered and report nothing."""
    reporting = {report.gateway for report, _ in states}
    for each in there:
        if each.name not in reporting:
            why = "it does not report which settings it has applied: it was started by an older clew"
            yield Behind(gateway=each.name, pid=each.pid, why=why, fix="restart it")
