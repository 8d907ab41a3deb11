"""How many may be under way to one endpoint. Like asyncio's semaphore, without a coroutine where nobody has to wait."""

from __future__ import annotations

import asyncio
from collections import deque

__all__ = ["Slots"]


class Slots:
    """So many; whoever comes later waits, first come, first served."""

    def __init__(self, count: int) -> None:
        self.free = count
        self.waiting: deque[asyncio.Future[None]] = deque()

    def take_at_once(self) -> bool:
        """One, if one is free."""
        if not self.free:
            return False
        self.free -= 1
        return True

    async def take(self) -> None:
        """One, as soon as there is one."""
        if self.take_at_once():
            return
        waiter = asyncio.get_running_loop().create_future()
        self.waiting.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if not waiter.cancelled():  # it was given in the very moment in which nobody wanted it any more
                self.give_back()
            raise

    def give_back(self) -> None:
        """On to whoever waits longest."""
        while self.waiting:
            waiter = self.waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self.free += 1
