"""Workers: processes that share one port, the parent that keeps them, and what each reports to it.

Each worker is a fresh interpreter, not a fork: nothing of the parent's threads, loops or descriptors leaks into it. By a
pipe it gets its plan, with the settings that the parent has: a settings file that broke meanwhile keeps no worker from
starting. The end of that pipe means that the parent is gone. By another pipe the worker says that it listens, and then
reports. A worker that crashes is started again, after a pause that grows as long as it keeps crashing. Workers do not get
the terminal's signals: the parent passes them on.

A report has the numbers that a process has to itself: exchanges under way, and the health of its own writer of the store.
All else that the admin shows is in the store, which the workers share. A worker looks when it polls for settings, twice a
second, and writes a line if something changed: it costs no request and no timer, and the admin is late by half a second at
most.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final

import msgspec
from msgspec import Struct, structs

from clew.gateway.ending import Ending
from clew.gateway.plan import Plan
from clew.settings.load import SettingsText
from clew.store.values import Health

_COMMAND: Final = (sys.executable, "-m", "clew.gateway.worker")
_LISTENING: Final = b"listening\n"
_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 10.0
_SOUND_SECONDS: Final = 10.0
"""A worker that lived so long did not crash because of its start."""
_LATEST: Final = 0.9
"""The part of `closing_seconds` after which a worker that has not ended by itself is killed. The rest is for the parent."""
_STATES: Final[Sequence[str]] = ("ok", "degraded", "read-only")
"""The worst last."""

_log = logging.getLogger("clew.gateway")


class WorkerReport(Struct, frozen=True, kw_only=True):
    """The state of a worker, as it last reported it."""

    running: int = 0
    """Exchanges under way."""
    store: Health | None = None
    """None: switched off."""


def read_report(line: bytes) -> WorkerReport | None:
    """None for a line that is no report: a library may print something."""
    with suppress(msgspec.DecodeError):
        return msgspec.json.decode(line, type=WorkerReport)
    return None


def change_reporter(look: Callable[[], WorkerReport], pipe: int) -> Callable[[], None]:
    """A function to be called again and again: it writes what `look` finds, if that changed. It never waits for the
    parent."""
    os.set_blocking(pipe, False)
    last = WorkerReport()

    def report() -> None:
        nonlocal last
        now = look()
        if now != last:
            with suppress(OSError):  # a line is short, so a pipe takes all of it or nothing
                os.write(pipe, msgspec.json.encode(now) + b"\n")
                last = now

    return report


def merge_health(healths: Iterable[Health]) -> Health:
    """The health of one store that several processes use: the worst state, the sum of what waits. Its log is one file."""
    found = tuple(healths)
    worst = max(found, key=lambda health: _STATES.index(health.state))
    return Health(
        state=worst.state,
        why=worst.why,
        warning=next((each.warning for each in found if each.warning), ""),
        waiting=sum(each.waiting for each in found),
        wal_bytes=max(each.wal_bytes for each in found),
        local=sum(each.local for each in found),
        skipped=sum(each.skipped for each in found),
    )


class Workers:
    """Started by `run`, which returns when the last of them is gone."""

    def __init__(
        self,
        plan: Plan,
        count: int,
        environ: Mapping[str, str],
        drain_seconds: float,
        taken: Callable[[], SettingsText],
        closing_seconds: float = 1.0,
    ) -> None:
        """`taken` gives the settings that this process has: each worker begins with them."""
        self.taken = taken
        self.listening = asyncio.Event()
        """Set when the first worker takes connections."""
        self._plan = plan
        self._count = count
        self._environ = dict(environ)
        self._closing = closing_seconds * _LATEST
        self._patience = drain_seconds + self._closing
        self._processes: set[Process] = set()
        self._reports: dict[Process, WorkerReport] = {}

    def reports(self) -> tuple[WorkerReport, ...]:
        """The last report of each worker that has sent one."""
        return tuple(self._reports.values())

    async def run(self, ending: Ending) -> None:
        """Keep all workers alive until the end is asked for, then end them."""
        slots = [asyncio.ensure_future(self._keep_one(ending)) for _ in range(self._count)]
        passing_on = asyncio.ensure_future(self._pass_on(ending))
        try:
            await asyncio.gather(*slots)
        finally:
            for task in (*slots, passing_on):
                task.cancel()
            self.kill()

    async def _keep_one(self, ending: Ending) -> None:
        """Run one worker, and start another each time that it ends, until the gateway is asked to end."""
        pause = _FIRST_PAUSE
        loop = asyncio.get_running_loop()
        while not ending.asked.is_set():
            began = loop.time()
            code = await self._run_one(ending)
            if ending.asked.is_set():
                return
            pause = _FIRST_PAUSE if loop.time() - began > _SOUND_SECONDS else min(_LONGEST_PAUSE, pause * 2)
            _log.error("a worker process ended with status %d; a new one starts in %.1f s", code, pause)
            with suppress(TimeoutError):
                await asyncio.wait_for(ending.asked.wait(), pause)

    async def _run_one(self, ending: Ending) -> int:
        """One worker, from its start to its end. Returns its exit code."""
        process = await asyncio.create_subprocess_exec(
            *_COMMAND, stdin=PIPE, stdout=PIPE, env=self._environ, start_new_session=True
        )
        self._processes.add(process)
        try:
            if ending.asked.is_set():  # it was just starting when all workers got the signal
                process.terminate()
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(msgspec.json.encode(structs.replace(self._plan, taken=self.taken())) + b"\n")
            if await process.stdout.readline() == _LISTENING:
                self.listening.set()
            while line := await process.stdout.readline():
                if report := read_report(line):
                    self._reports[process] = report
            return await process.wait()
        finally:
            self._processes.discard(process)
            self._reports.pop(process, None)
            if process.returncode is None:  # nobody waits for it any more
                process.kill()

    async def _pass_on(self, ending: Ending) -> None:
        await ending.asked.wait()
        self._signal(signal.SIGTERM)
        with suppress(TimeoutError):
            await asyncio.wait_for(ending.insisted.wait(), self._patience)
            self._signal(signal.SIGTERM)
            await asyncio.sleep(self._closing)
        self.kill()

    def kill(self) -> None:
        """No worker outlives a parent that ends."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        for process in list(self._processes):
            with suppress(ProcessLookupError):
                process.send_signal(number)
