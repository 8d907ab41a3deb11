"""Housekeeping: retention and the index of words, as a task of an event loop, in steps so small that no turn waits for them.

Each step is a transaction over some records; between two steps the writer takes whatever came meanwhile. A store that cannot
be written now is tried again in the next round: `health` says why, and old records do no harm. While the clock is in doubt
(`ClockDoubt`), nothing is deleted for its age.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from math import inf
from time import monotonic
from typing import Final

import msgspec

from clew.errors import StoreError
from clew.store.protocols import Store
from clew.store.values import Retention

EVERY: Final = 600.0
PAUSE: Final = 0.02
"""As long as a step takes, so that half of the writer's time is left for turns."""


async def run_housekeeping(
    store: Store,
    retention: Callable[[], Retention],
    *,
    clock: Callable[[], float],
    doubted: Callable[[str], None] = lambda why: None,
    every: float = EVERY,
    most: float = EVERY,
) -> None:
    """Tidy now and then until cancelled. `retention` is asked each time, since the settings may have changed. `doubted` is
    called once when the clock may be wrong. A round that ran out of time is followed by the next at once."""
    while True:
        done = True
        with suppress(StoreError):  # the store's health reports it, and so does the next turn that cannot be recorded
            now, wanted = clock(), retention()
            doubt = await asyncio.wrap_future(store.check_clock(now))
            if doubt is not None:
                now, wanted = doubt.before, msgspec.structs.replace(wanted, age=None, usage_age=None)
                if doubt.is_new:
                    doubted(str(doubt))
            _, done = await _tidy_round(store, wanted, now, PAUSE, most)
        await asyncio.sleep(every if done else PAUSE)


async def tidy(store: Store, retention: Retention, *, now: float, pause: float = PAUSE) -> int:
    """Delete what is too old or too much, step by step, until nothing is left to delete; then index new turns. Returns how
    many records were deleted."""
    deleted, _ = await _tidy_round(store, retention, now, pause, inf)
    return deleted


async def _tidy_round(store: Store, retention: Retention, now: float, pause: float, most: float) -> tuple[int, bool]:
    """How many records were deleted, and whether all work is done.

    Neither part takes longer than `most`: where turns come without end there is always something new, and the other part
    would wait forever.
    """
    deleted, retained = await _repeat(lambda: store.apply_retention(retention, now=now), pause, most)
    _, indexed = await _repeat(store.index_turns, pause, most)
    return deleted, retained and indexed


async def _repeat(step: Callable[[], Future[int]], pause: float, most: float) -> tuple[int, bool]:
    """Repeat a step until it finds nothing to do: how many records it handled, and whether none is left."""
    done, until = 0, monotonic() + most
    while count := await asyncio.wrap_future(step()):
        done += count
        if monotonic() > until:
            return done, False
        await asyncio.sleep(pause)
    return done, True
