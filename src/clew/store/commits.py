"""Waiting for a commit from an event loop, and not for long (law 8).

The end of a turn is in the store before its end event reaches the client; but a store that cannot answer within 250 ms does
not hold the answer back. The write itself is never cancelled, neither by the limit nor by a client that leaves: it may still
succeed, and then the next request finds the turn that was reported as unrecorded.

Every answer passes here, so the wait is one callback and one timer. Wrapping a thread's future for asyncio and putting a
limit on it takes twice the time, and a task that waits for it takes as long again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any

from clew.errors import StoreError
from clew.model.turn import CommitResult
from clew.store.values import StorePlace

COMMIT_LIMIT = 0.25
"""Seconds."""


async def wait_for_commit(write: Future[bool], limit: float = COMMIT_LIMIT) -> StoreError | None:
    """None once the write is committed, else why it is not. Never raises for a store that fails."""
    ended = asyncio.get_running_loop().create_future()
    call_when_over(write, limit, lambda: None if ended.done() else ended.set_result(None))
    await ended
    return commit_problem(write, limit)


def commit_problem(write: Future[bool], limit: float = COMMIT_LIMIT) -> StoreError | None:
    """Why a write is not committed by now; None if it is."""
    if not write.done():
        return StoreError(f"the store did not commit within {limit * 1000:.0f} ms")
    error = write.exception()
    if error is None or isinstance(error, StoreError):
        return error
    return StoreError(f"the store cannot keep it: {type(error).__name__}: {error}")


def was_kept(write: Future[bool]) -> bool:
    """Whether a write that is over has kept something new."""
    try:
        return write.result()
    except (Exception, CancelledError):
        return False


def commit_result(write: Future[bool], limit: float, place: StorePlace) -> CommitResult:
    """Where a turn is by now. `place` is where the store keeps what it commits."""
    if problem := commit_problem(write, limit):
        return CommitResult("no", problem)
    waits = isinstance(write, KeptTurn) and write.waits
    return CommitResult("local" if waits else place, None, waits)


class KeptTurn(Future[bool]):
    """A turn that is kept: by the shared store, or else on this machine, until the store takes it."""

    waits = False


def call_when_over(write: Future[bool], limit: float, then: Callable[[], None]) -> CommitWait:
    """Have the running loop call `then` once: when the write is over, or when the limit has passed."""
    return CommitWait(asyncio.get_running_loop(), write, limit, then)


def call_when_done(write: Future[Any], loop: asyncio.AbstractEventLoop, then: Callable[[], None]) -> None:
    """Have the loop call `then` when the write is over, which happens in another thread."""

    def wake(_: Future[Any]) -> None:
        try:
            loop.call_soon_threadsafe(then)
        except RuntimeError:  # the loop is closed: nobody waits any more
            return

    write.add_done_callback(wake)


class CommitWait:
    """Waits for a write or for a timer, whichever comes first."""

    __slots__ = ("_then", "_timer", "is_over")

    def __init__(self, loop: asyncio.AbstractEventLoop, write: Future[bool], limit: float, then: Callable[[], None]) -> None:
        self.is_over = False
        self._then = then
        self._timer = loop.call_later(limit, self._end)
        call_when_done(write, loop, self._end)

    def _end(self) -> None:
        if not self.is_over:
            self.is_over = True
            self._timer.cancel()
            self._then()
