"""The one place of the tests that lets real time pass: it waits for what must become so, and no longer.

A real bound only detects hangs. A test that cannot do without real time has the mark `real_time`; `tests.real_time` fails any other
that sleeps.
"""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

__all__ = ["forever", "turns", "until", "until_so"]

T = TypeVar("T")

PATIENCE = 240.0
"""Seconds for what must become so."""
PAUSE = 0.005
"""Between two looks."""


def until(true: Callable[[], T], seconds: float = PATIENCE) -> T:
    """What it says, as soon as it says something."""
    end = time.monotonic() + seconds
    while not (said := true()):
        assert time.monotonic() < end, "it did not become so in time"
        time.sleep(PAUSE)
    return said


async def until_so(true: Callable[[], T], seconds: float = PATIENCE) -> T:
    """The same inside of a loop, which goes on meanwhile."""
    async with asyncio.timeout(seconds):
        while not (said := true()):  # noqa: ASYNC110 - what is waited for says nothing by itself
            await asyncio.sleep(PAUSE)
    return said


async def turns(count: int = 20) -> None:
    """Let the loop go round so many times: what was put off to its next turns has happened then."""
    for _ in range(count):
        await asyncio.sleep(0)


async def forever() -> None:
    """Until it is cancelled."""
    await asyncio.get_running_loop().create_future()
