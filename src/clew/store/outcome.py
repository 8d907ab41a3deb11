"""Waiting for a commit from an event loop, and not for long (law 8).

The end of a turn is in the store before its end event reaches the client; but a store that cannot answer within 250 ms does
not hold the answer back. The write itself is never cancelled, neither by the limit nor by a client that leaves: it may still
succeed, and then the next request finds what this one was told is unrecorded.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Future

from clew.errors import StoreError

__all__ = ["LIMIT", "outcome"]

LIMIT = 0.25


async def outcome(write: Future[bool], limit: float = LIMIT) -> StoreError | None:
    """None once the write is committed, else why it is not. Never raises for a store that fails."""
    waiting = asyncio.wrap_future(write)
    waiting.add_done_callback(_retrieved)
    try:
        await asyncio.wait_for(asyncio.shield(waiting), limit)
    except TimeoutError:
        return StoreError(f"the store did not commit within {limit * 1000:.0f} ms")
    except StoreError as error:
        return error
    return None


def _retrieved(done: asyncio.Future[bool]) -> None:
    """A failure after the limit was reported already; asyncio would report it again as one that nobody saw."""
    if not done.cancelled():
        done.exception()
