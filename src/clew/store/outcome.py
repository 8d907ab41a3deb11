"""Waiting for a commit from an event loop, and not for long (law 8).

The end of a turn is in the store before its end event reaches the client; but a store that cannot answer within 250 ms does
not hold the answer back. The write itself is never cancelled, neither by the limit nor by a client that leaves: it may still
succeed, and then the next request finds what this one was told is unrecorded.

This is on the way of every answer, so it is one future and one timer: asyncio's own way from a thread's future to a limit
on it takes twice the time.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from contextlib import suppress

from clew.errors import StoreError

__all__ = ["LIMIT", "outcome"]

LIMIT = 0.25


async def outcome(write: Future[bool], limit: float = LIMIT) -> StoreError | None:
    """None once the write is committed, else why it is not. Never raises for a store that fails."""
    loop = asyncio.get_running_loop()
    ended = loop.create_future()
    timer = loop.call_later(limit, _end, ended)
    write.add_done_callback(lambda _: _wake(loop, ended))
    try:
        await ended
    finally:
        timer.cancel()
    if not write.done():
        return StoreError(f"the store did not commit within {limit * 1000:.0f} ms")
    error = write.exception()
    if error is None or isinstance(error, StoreError):
        return error
    raise error


def _wake(loop: asyncio.AbstractEventLoop, ended: asyncio.Future[None]) -> None:
    """From the writer's thread. A loop that is closed has nobody waiting."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(_end, ended)


def _end(ended: asyncio.Future[None]) -> None:
    if not ended.done():
        ended.set_result(None)
