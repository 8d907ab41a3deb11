"""The connections to one endpoint: how many there may be, those in use, and those that rest until the next request."""

from __future__ import annotations

import asyncio
from collections import deque

from clew.http.client.connection import ClientConnection


class ConnectionSlots:
    """So many; later requests wait, first come, first served."""

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
        """Pass the connection on to the request that waits longest."""
        while self.waiting:
            waiter = self.waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self.free += 1


_FRESH_SECONDS = 0.05
"""For so long after its last use a connection is taken without asking the kernel whether it still lives."""


class EndpointConnections:
    """The connections to one endpoint: how many more there may be, and those that rest, oldest first. They were found
    reusable when they were laid here, so all that can have become of them since is that they were closed."""

    def __init__(self, connections: int) -> None:
        self.slots = ConnectionSlots(connections)
        self.open: set[ClientConnection] = set()
        """Those that are in use, too."""
        self.leaving: set[ClientConnection] = set()
        """In use, and of a way out that was given up: not kept."""
        self.resting: list[tuple[float, ClientConnection]] = []

    def take(self, now: float) -> ClientConnection | None:
        """The one used last, if it still lives: so the others may grow old and go. Who takes it has a slot for it, and gives
        both back (`give_back`).

        The kernel is asked only of one that has rested for a while: what closed just now, the loop will say in a moment, and
        then the request goes out once more.
        """
        resting = self.resting
        while resting:
            since, connection = resting.pop()
            if not connection.is_closed and (now - since < _FRESH_SECONDS or connection.fresh):
                return connection
            self.drop(connection)
        return None

    def give_back(self, connection: ClientConnection, now: float) -> None:
        """The exchange is over, and its slot free. Keep it if the answer was read to its end, else close it."""
        slots = self.slots
        if slots.waiting:
            slots.give_back()
        else:  # as nearly always
            slots.free += 1
        if connection.rest() and connection not in self.leaving:
            self.resting.append((now, connection))
        else:
            self.drop(connection)

    def drop(self, connection: ClientConnection) -> None:
        """Close it. Nobody is told any more what becomes of it."""
        connection.listener = None
        self.open.discard(connection)
        self.leaving.discard(connection)
        connection.abort()

    def sweep(self, before: float) -> None:
        """Close what has rested since before that moment, and what the backend closed."""
        resting, self.resting = self.resting, []
        for since, connection in resting:
            if since > before and not connection.is_closed:
                self.resting.append((since, connection))
            else:
                self.drop(connection)
