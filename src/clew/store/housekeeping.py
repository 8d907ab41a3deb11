"""Housekeeping: retention and the index of words, as a task of an event loop, in bites so small that no turn waits for them.

Each bite is a transaction of some records; between two of them the writer takes whatever came meanwhile. A
store that cannot be written now is tried again at the next round: `health` says why, and old records harm nobody. While the
clock is in doubt (`clock`), nothing is deleted for its age.
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

__all__ = ["EVERY", "keep_house", "tidy"]

EVERY: Final = 600.0
PAUSE: Final = 0.02
"""As long as a bite takes, so that half of the writer's time is left for turns."""


async def tidy(store: Store, retention: Retention, *, now: float, pause: float = PAUSE) -> int:
    """Delete what is too old or too much, bite by bite, until nothing goes; then index what is new. How many went."""
    gone, _ = await _round(store, retention, now, pause, inf)
    return gone


async def keep_house(
    store: Store,
    retention: Callable[[], Retention],
    *,
    clock: Callable[[], float],
    doubted: Callable[[str], None] = lambda why: None,
    every: float = EVERY,
    most: float = EVERY,
) -> None:
    """Tidy now and then until cancelled. `retention` is asked each time: the settings may have changed. `doubted` is told
    once that the clock may be wrong.

    A round that had more to do than time is followed by the next at once.
    """
    while True:
        done = True
        with suppress(StoreError):  # said by the store's health, and by the next turn that cannot be kept
            now, wanted = clock(), retention()
            doubt = await asyncio.wrap_future(store.check_clock(now))
            if doubt is not None:
                now, wanted = doubt.before, _ageless(wanted)
                if doubt.is_new:
                    doubted(str(doubt))
            _, done = await _round(store, wanted, now, PAUSE, most)
        await asyncio.sleep(every if done else PAUSE)


def _ageless(retention: Retention) -> Retention:
    return msgspec.structs.replace(retention, age=None, usage_age=None)


async def _round(store: Store, retention: Retention, now: float, pause: float, most: float) -> tuple[int, bool]:
    """How many went, and whether that is all there was to do.

    Neither part takes longer than `most`: where turns come without end there is always something new, and the other waits.
    """
    gone, retained = await _until_none(lambda: store.retain(retention, now=now), pause, most)
    _, indexed = await _until_none(store.catch_up, pause, most)
    return gone, retained and indexed


async def _until_none(bite: Callable[[], Future[int]], pause: float, most: float) -> tuple[int, bool]:
    """How many there were, and whether none is left."""
    done, until = 0, monotonic() + most
    while count := await asyncio.wrap_future(bite()):
        done += count
        if monotonic() > until:
            return done, False
        await asyncio.sleep(pause)
    return done, True
