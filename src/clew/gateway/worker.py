"""A worker process: `python -m clew.gateway.worker`, with its plan on standard input. Only `workers` starts it."""

from __future__ import annotations

import asyncio
import os
import sys

import msgspec

from clew.errors import ClewError
from clew.gateway.ending import Deadline, Ending
from clew.gateway.plan import Plan
from clew.gateway.process import Gateway, open_gateway
from clew.http.loops import run
from clew.http.server import bound
from clew.settings.home import home_of
from clew.settings.load import load, load_source


def main() -> int:
    plan = msgspec.json.decode(sys.stdin.buffer.readline(), type=Plan)
    try:
        with Deadline() as deadline:
            run(_run(plan, deadline))
    except (ClewError, OSError) as error:
        sys.stderr.write(f"a worker cannot start: {error}\n")
        return 1
    return 0


async def _run(plan: Plan, deadline: Deadline) -> None:
    ending = Ending()
    with ending.handle_signals(deadline):
        loaded = load_source(plan.taken, os.environ) if plan.taken else load(plan.file, os.environ)
        listener = bound(plan.host, plan.port, reuse_port=True)
        gateway = await open_gateway(plan, loaded, home_of(os.environ), sock=listener)
        gateway.limit(deadline)
        sys.stdout.write("listening\n")
        sys.stdout.flush()
        _end_with_parent(ending)
        try:
            await _serve(gateway, ending)
        finally:
            await gateway.close()
    deadline.finish()


async def _serve(gateway: Gateway, ending: Ending) -> None:
    from clew.gateway.workers import WorkerReport, change_reporter  # late: the listener does not wait for the store

    async with gateway.load() as works:

        def look() -> WorkerReport:
            return WorkerReport(running=gateway.plane.running, store=works.store.health() if works.store else None)

        with works.current.beside(change_reporter(look, sys.stdout.fileno())):
            await ending.asked.wait()
            await gateway.drain(ending)


def _end_with_parent(ending: Ending) -> None:
    """The parent writes nothing after the plan, so when standard input can be read, the parent is gone."""
    loop, pipe = asyncio.get_running_loop(), sys.stdin.fileno()

    def on_end_of_input() -> None:
        loop.remove_reader(pipe)
        ending.ask()

    loop.add_reader(pipe, on_end_of_input)


if __name__ == "__main__":
    sys.exit(main())
