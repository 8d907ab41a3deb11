"""What takes a while is done in a thread, so that nobody else's stream waits for it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

__all__ = ["LARGE", "apart", "aside"]

T = TypeVar("T")

LARGE = 128 * 1024
"""Bytes of a request or an answer above which it is worked on in a thread: below, the way there costs more than the work."""


async def aside(size: int, work: Callable[[], T]) -> T:
    """What takes a while is done in a thread, so that nobody else's stream waits for it."""
    return await asyncio.to_thread(work) if size > LARGE else work()


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
