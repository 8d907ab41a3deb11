"""A worker process: `python -m clew.gateway.worker`, with its plan on standard input. Started by `workers` alone."""

from __future__ import annotations

import asyncio
import os
import sys

import msgspec

from clew.errors import ClewError
from clew.gateway.plan import Plan
from clew.gateway.process import opened
from clew.gateway.signals import Ending
from clew.http.loops import run
from clew.http.server import bound
from clew.settings.home import home_of
from clew.settings.load import load

__all__ = ["main"]


def main() -> int:
    plan = msgspec.json.decode(sys.stdin.buffer.readline(), type=Plan)
    try:
        run(_work(plan))
    except (ClewError, OSError) as error:
        sys.stderr.write(f"a worker cannot start: {error}\n")
        return 1
    return 0


async def _work(plan: Plan) -> None:
    ending = Ending()
    ending.watch()
    loaded = load(plan.file, os.environ)
    plug = bound(plan.host, plan.port, reuse_port=True)
    gateway = await opened(plan, loaded, home_of(os.environ), sock=plug)
    sys.stdout.write("listening\n")
    sys.stdout.flush()
    _end_with_parent(ending)
    try:
        async with gateway.load():
            await ending.asked.wait()
            await gateway.drain(ending)
    finally:
        await gateway.server.close(grace=0)


def _end_with_parent(ending: Ending) -> None:
    """The parent never writes again, so what can be read then is its end."""
    loop, pipe = asyncio.get_running_loop(), sys.stdin.fileno()

    def orphaned() -> None:
        loop.remove_reader(pipe)
        ending.ask()

    loop.add_reader(pipe, orphaned)


if __name__ == "__main__":
    sys.exit(main())
