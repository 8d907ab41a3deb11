"""A worker process: `python -m clew.gateway.worker`, with its plan on standard input. Started by `workers` alone."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING

import msgspec

from clew.errors import ClewError
from clew.gateway.deadline import Deadline
from clew.gateway.plan import Plan
from clew.gateway.process import Gateway, opened
from clew.gateway.signals import Ending
from clew.http.loops import run
from clew.http.server import bound
from clew.settings.home import home_of
from clew.settings.load import load, load_taken

if TYPE_CHECKING:
    from clew.gateway.report import Report
    from clew.gateway.works import Works

__all__ = ["main"]


def main() -> int:
    plan = msgspec.json.decode(sys.stdin.buffer.readline(), type=Plan)
    try:
        with Deadline() as deadline:
            run(_work(plan, deadline))
    except (ClewError, OSError) as error:
        sys.stderr.write(f"a worker cannot start: {error}\n")
        return 1
    return 0


async def _work(plan: Plan, deadline: Deadline) -> None:
    ending = Ending()
    with ending.watched(deadline):
        await _run(plan, ending, deadline)
    deadline.has_kept()


async def _run(plan: Plan, ending: Ending, deadline: Deadline) -> None:
    loaded = load_taken(plan.taken, os.environ) if plan.taken else load(plan.file, os.environ)
    plug = bound(plan.host, plan.port, reuse_port=True)
    gateway = await opened(plan, loaded, home_of(os.environ), sock=plug)
    gateway.limit(deadline)
    sys.stdout.write("listening\n")
    sys.stdout.flush()
    _end_with_parent(ending)
    try:
        await _serve(gateway, ending)
    finally:
        await gateway.close()


async def _serve(gateway: Gateway, ending: Ending) -> None:
    from clew.gateway.report import reporting  # late: the listener does not wait for it

    async with gateway.load() as works:
        with works.current.beside(reporting(lambda: _look(gateway, works), sys.stdout.fileno())):
            await ending.asked.wait()
            await gateway.drain(ending)


def _look(gateway: Gateway, works: Works) -> Report:
    from clew.gateway.report import Report

    return Report(running=gateway.plane.running, store=works.store.health() if works.store else None)


def _end_with_parent(ending: Ending) -> None:
    """The parent never writes again, so what can be read then is its end."""
    loop, pipe = asyncio.get_running_loop(), sys.stdin.fileno()

    def orphaned() -> None:
        loop.remove_reader(pipe)
        ending.ask()

    loop.add_reader(pipe, orphaned)


if __name__ == "__main__":
    sys.exit(main())
