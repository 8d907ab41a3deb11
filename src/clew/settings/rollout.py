"""Rolling out a change: whether every process of every gateway has applied what a command, or a page, has just changed.

All processes are woken and waited for, two seconds at most. Each is judged by its own report (`processes`), against what the
files and the store say now. One that cannot apply the change, or has not in time, is named, with the reason and with what
helps. A process that is starting is waited for too, but does not count as behind: it looks for changes before it answers.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, TypeAlias

from msgspec import Struct

from clew.limits.keys import keys_digest
from clew.limits.limit import limits_digest
from clew.settings.home import Home, file_digest
from clew.settings.named_keys import NamedKeys
from clew.settings.processes import (
    CHANGED,
    FILE_WRITTEN,
    AppliedSettings,
    ProcessReport,
    process_reports,
    registered_gateways,
    wake,
)
from clew.store.protocols import Store

MOST_SECONDS: Final = 2.0
_PAUSE: Final = 0.01


class ProcessBehind(Struct, frozen=True, kw_only=True):
    """A process that has not applied the change."""

    gateway: str
    pid: int
    why: str
    fix: str


class Rollout(Struct, frozen=True, kw_only=True):
    """What became of a change: how many gateways were asked, and which of their processes have not applied it."""

    gateways: int = 0
    behind: tuple[ProcessBehind, ...] = ()


class _State(Struct, frozen=True):
    """Whether one process has applied the change. Where it has not, and no reason is known, it may still do so."""

    has: bool
    why: str = ""
    fix: str = ""


_APPLIED: Final = _State(True)
_WAITING: Final = _State(False)

_Judge: TypeAlias = Callable[[str, AppliedSettings], _State]
"""Judges a process by its gateway's name and by what it has applied."""


def roll_out_file(home: Home, file: Path, *, added: str = "") -> Rollout:
    """The settings file was written. `added` is a backend that is new in it."""

    def judge(gateway: str, applied: AppliedSettings) -> _State:
        if Path(applied.file) != file.absolute():
            return _APPLIED  # it uses another file
        if file_digest(file) != applied.looked_at:
            return _WAITING
        if applied.problem:
            return _State(False, _rejected(applied), how_to_apply(applied))
        return _judge_backend(applied, added)

    return _roll_out(home, judge, what=FILE_WRITTEN)


def roll_out_keys(home: Home, keys: NamedKeys) -> Rollout:
    """A named key was added, removed or changed."""
    digest = keys_digest(keys.all())
    local = _roll_out(home, lambda gateway, applied: _State(applied.keys == digest))
    return local if keys.store is None else roll_out_shared(home, keys.store, local)


def roll_out_limits(home: Home, store: Store) -> Rollout:
    """A limit was set or removed."""
    digest = limits_digest(store.limits.all())
    return roll_out_shared(home, store, _roll_out(home, lambda gateway, applied: _State(applied.limits == digest)))


def roll_out_seal_key(home: Home, current: str) -> Rollout:
    """New seals are made with the key of this id."""

    def judge(gateway: str, applied: AppliedSettings) -> _State:
        if applied.seal_key != current and applied.seal_key_is_given:
            return _State(False, "its secret is CLEW_SECRET of its own environment", "change that variable and restart it")
        return _State(applied.seal_key == current)

    return _roll_out(home, judge)


def roll_out_choice(
    home: Home, kept: Callable[[str], Mapping[str, str]], *, gateway: str = "", of_part: str | None = None
) -> Rollout:
    """A choice was written to the store, for all gateways or for one. `kept` gives what the store has for all (""), or for
    the gateway of a name. `of_part` is the backend for a part of the requests ("": as all others), None for all of them."""

    def judge(name: str, applied: AppliedSettings) -> _State:
        if applied.choices != kept("") or applied.own_choices != kept(name):
            return _WAITING
        return _judge_backend(applied, applied.active if of_part is None else of_part)

    return _roll_out(home, judge, gateway=gateway)


def roll_out_pin(home: Home, backend: str, pins: str) -> Rollout:
    """A thread was pinned to this backend ("": to none), and the store's count of such choices is `pins`."""

    def judge(gateway: str, applied: AppliedSettings) -> _State:
        return _judge_backend(applied, backend) if applied.pins == pins else _WAITING

    return _roll_out(home, judge)


def roll_out_shared(home: Home, store: Store, local: Rollout) -> Rollout:
    """A change was written to a store that gateways on other machines may share: wait for these too. `local` says what
    became of it on this machine."""
    here = {(socket.gethostname(), report.pid) for report in process_reports(home)}
    wanted, end = store.changes(), time.monotonic() + MOST_SECONDS
    while True:
        others = [each for each in store.gateways() if (each.machine, each.pid) not in here]
        late = [each for each in others if each.taken < wanted]
        if not late or time.monotonic() >= end:
            break
        time.sleep(_PAUSE * 5)
    behind = [
        ProcessBehind(
            gateway=f"{each.name} on {each.machine}",
            pid=each.pid,
            why=f"it has not applied the change within {MOST_SECONDS:.0f} s",
            fix=f"see whether {each.address or 'it'} answers; one that was killed is listed for 15 s",
        )
        for each in late
    ]
    count = len({(each.name, each.machine) for each in others})
    return Rollout(gateways=local.gateways + count, behind=(*local.behind, *behind))


def unknown_backend(applied: AppliedSettings, backend: str) -> str:
    """Why a process does not know a backend that was chosen."""
    why = f"there is none of this name in {applied.file}"
    if backend in applied.disabled:
        why = f"in its environment, {applied.disabled[backend]}"
    elif applied.problem:
        why = _rejected(applied)
    return f"it does not know the backend {backend}: {why}"


def how_to_apply(applied: AppliedSettings, backend: str = "") -> str:
    """What helps a process that could not use a file, or cannot call a backend."""
    if backend in applied.disabled:
        return (
            'restart this gateway where the variable is set, or name a file for the key in the settings (key = "file:/path")'
        )
    if applied.problem:
        return "correct the file; or set what is missing where this gateway was started, and restart it there"
    return f"add the backend to {applied.file}, or choose one that this gateway has: {', '.join(applied.backends)}"


def _judge_backend(applied: AppliedSettings, backend: str) -> _State:
    """How far a process has applied a change that needs this backend. "" needs none."""
    if not backend or backend in applied.backends:
        return _APPLIED
    if file_digest(Path(applied.file)) != applied.looked_at:
        return _WAITING  # it has not read the newest file yet
    return _State(False, unknown_backend(applied, backend), how_to_apply(applied, backend))


def _rejected(applied: AppliedSettings) -> str:
    return f"it rejected the new {applied.file}: {applied.problem}"


def _roll_out(home: Home, judge: _Judge, *, gateway: str = "", what: bytes = CHANGED) -> Rollout:
    def reports() -> list[ProcessReport]:
        return [report for report in process_reports(home) if gateway in ("", report.gateway)]

    for report in reports():
        wake(home, report, what)
    end = time.monotonic() + MOST_SECONDS
    while True:
        states = [(each, judge(each.gateway, each.applied) if each.applied else _WAITING) for each in reports()]
        if time.monotonic() >= end or not any(state == _WAITING for _, state in states):
            break
        time.sleep(_PAUSE)
    behind: list[ProcessBehind] = []
    for report, state in states:
        if report.applied is not None and not state.has:
            why = state.why or f"it has not applied the change within {MOST_SECONDS:.0f} s"
            look = "look with `clew status` whether it has by now"
            fix = state.fix or f"{look}; if it hangs, end process {report.pid} and restart it"
            behind.append(ProcessBehind(gateway=report.gateway, pid=report.pid, why=why, fix=fix))
    gateways = [each for each in registered_gateways(home) if gateway in ("", each.name)]
    reporting = {report.gateway for report, _ in states}
    for each in gateways:
        if each.name not in reporting:
            why = "it does not report which settings it has applied: it was started by an older clew"
            behind.append(ProcessBehind(gateway=each.name, pid=each.pid, why=why, fix="restart it"))
    return Rollout(gateways=len(gateways), behind=tuple(behind))
