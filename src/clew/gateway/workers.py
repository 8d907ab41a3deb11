"""Workers: processes that share one port, and the parent that keeps them.

Each is a fresh interpreter, not a fork: nothing of the parent's threads, loops or descriptors leaks into it. By a pipe it
gets its plan, with the settings that the parent has: a file that broke meanwhile keeps no worker from starting. The end of
that pipe is the death of the parent. By another pipe the worker says that it listens, and then how it fares
(`clew.gateway.report`). A worker that crashes is started again, after a pause that grows as long as it keeps crashing. The
terminal's signals are not for them: the parent hears and passes them on.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

import msgspec
from msgspec import structs

from clew.gateway.plan import Plan
from clew.gateway.report import Report, read_report
from clew.gateway.signals import Ending
from clew.settings.load import Taken

__all__ = ["Workers"]

_COMMAND: Final = (sys.executable, "-m", "clew.gateway.worker")
_LISTENING: Final = b"listening\n"
_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 10.0
_SOUND_SECONDS: Final = 10.0
"""Who lived so long did not crash of its start."""
_LATEST: Final = 0.9
"""Of `closing_seconds`: then a worker that has not ended by itself is killed, and the rest is for their parent."""

_log = logging.getLogger("clew.gateway")


class Workers:
    """Started by `run`, which returns when the last of them is gone."""

    def __init__(
        self,
        plan: Plan,
        count: int,
        environ: Mapping[str, str],
        drain_seconds: float,
        taken: Callable[[], Taken],
        closing_seconds: float = 1.0,
    ) -> None:
        """`taken` gives the settings that this process has: each worker begins with them."""
        self.taken = taken
        self.listening = asyncio.Event()
        """Somebody takes connections."""
        self._plan = plan
        self._count = count
        self._environ = dict(environ)
        self._closing = closing_seconds * _LATEST
        self._patience = drain_seconds + self._closing
        self._processes: set[Process] = set()
        self._reports: dict[Process, Report] = {}

    def reports(self) -> tuple[Report, ...]:
        """The last of each that has told."""
        return tuple(self._reports.values())

    async def run(self, ending: Ending) -> None:
        """Keep them all alive until the end is asked for, then see them off."""
        slots = [asyncio.ensure_future(self._keep(ending)) for _ in range(self._count)]
        passing_on = asyncio.ensure_future(self._pass_on(ending))
        try:
            await asyncio.gather(*slots)
        finally:
            for task in (*slots, passing_on):
                task.cancel()
            self.kill()

    async def _keep(self, ending: Ending) -> None:
        pause = _FIRST_PAUSE
        loop = asyncio.get_running_loop()
        while not ending.asked.is_set():
            began = loop.time()
            code = await self._live(ending)
            if ending.asked.is_set():
                return
            pause = _FIRST_PAUSE if loop.time() - began > _SOUND_SECONDS else min(_LONGEST_PAUSE, pause * 2)
            _log.error("a worker ended with %d; another one starts in %.1f s", code, pause)
            with suppress(TimeoutError):
                await asyncio.wait_for(ending.asked.wait(), pause)

    async def _live(self, ending: Ending) -> int:
        """One worker, from its start to its end. One that was just starting when all were told to end is told by itself."""
        process = await asyncio.create_subprocess_exec(
            *_COMMAND, stdin=PIPE, stdout=PIPE, env=self._environ, start_new_session=True
        )
        self._processes.add(process)
        try:
            if ending.asked.is_set():
                process.terminate()
            assert process.stdin is not None
            process.stdin.write(self._encoded_plan())
            await self._hear(process)
            return await process.wait()
        finally:
            self._processes.discard(process)
            self._reports.pop(process, None)
            if process.returncode is None:  # nobody waits for it any more
                process.kill()

    def _encoded_plan(self) -> bytes:
        return msgspec.json.encode(structs.replace(self._plan, taken=self.taken())) + b"\n"

    async def _hear(self, process: Process) -> None:
        """What it says, until it says no more."""
        assert process.stdout is not None
        if await process.stdout.readline() == _LISTENING:
            self.listening.set()
        while line := await process.stdout.readline():
            if report := read_report(line):
                self._reports[process] = report

    async def _pass_on(self, ending: Ending) -> None:
        await ending.asked.wait()
        self._signal(signal.SIGTERM)
        with suppress(TimeoutError):
            await asyncio.wait_for(ending.insisted.wait(), self._patience)
            self._signal(signal.SIGTERM)
            await asyncio.sleep(self._closing)
        self.kill()

    def kill(self) -> None:
        """None of them is left behind a parent that ends."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        for process in list(self._processes):
            with suppress(ProcessLookupError):
                process.send_signal(number)
