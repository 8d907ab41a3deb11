"""What takes a while is done in a thread, so that nobody else's stream waits for it.

Threads share the interpreter: each that works takes time from the event loop. So of what is very large one is worked on at a
time in a process, in the order in which they came; what is smaller passes it by.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from clew.exchange.commands import LARGE

T = TypeVar("T")

VERY_LARGE = 2 * 1024 * 1024
"""Bytes above which it waits for its turn. A session of some hours stays below."""

_one_at_a_time = ThreadPoolExecutor(max_workers=1, thread_name_prefix="clew very large")
_look_ups = ThreadPoolExecutor(max_workers=4, thread_name_prefix="clew look-up")
"""Of small requests: they do not wait behind what is large."""


async def aside(size: int, work: Callable[[], T]) -> T:
    """What the work gives: at once if it is small, else from a thread. Nobody who leaves while it waits is worked for."""
    if size <= LARGE:
        return work()
    return await asyncio.get_running_loop().run_in_executor(threads_for(size), work)


def threads_for(size: int) -> ThreadPoolExecutor | None:
    """Who works on what is large; None: the threads of the loop."""
    return _one_at_a_time if size > VERY_LARGE else None


async def looking_up(size: int, work: Callable[[], T]) -> T:
    """What the work gives, which may look something up in the store, so it is done in a thread whatever its size."""
    threads = threads_for(size) if size > LARGE else _look_ups
    return await asyncio.get_running_loop().run_in_executor(threads, work)


async def look_up(size: int, work: Callable[[], None], stop: Callable[[], None]) -> None:
    """Do the work in a thread. A caller that is cancelled meanwhile calls `stop` for large work; small work is finished, so
    that what was read can be kept."""
    done = asyncio.ensure_future(looking_up(size, work))
    try:
        await asyncio.shield(done)
    except asyncio.CancelledError:
        if size > LARGE:
            stop()
            done.cancel()
        else:
            await asyncio.wait([done])
        raise
    finally:
        del done  # its exception knows this frame, and the frame knows the body


async def apart(work: Callable[[], None]) -> None:
    """In a thread of its own: it begins at once, and does not keep the process from its end."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def tell(error: Exception | None) -> None:
        if done.cancelled():
            return
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)

    def run() -> None:
        error = None
        try:
            work()
        except Exception as raised:
            error = raised
        with suppress(RuntimeError):  # the loop is over
            loop.call_soon_threadsafe(tell, error)

    threading.Thread(target=run, name="clew apart", daemon=True).start()
    await done
