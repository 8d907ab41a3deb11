"""Slots: how many requests may be under way at the same time, and who of the others is next."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, Generic, TypeVar

# A queue in which owners take turns: an owner with fifty requests delays another by one request, not by fifty.


T = TypeVar("T")


class FairQueue(Generic[T]):
    """The items of one owner are served in the order in which they came."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[T]] = {}
        """In the order in which owners are served: an owner that was served goes to the end."""

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def put(self, owner: str, item: T) -> None:
        self._waiting.setdefault(owner, deque()).append(item)

    def take(self) -> T:
        """The next item. Raises KeyError if there is none."""
        if not self._waiting:
            raise KeyError("nothing waits")
        owner = next(iter(self._waiting))
        items = self._waiting.pop(owner)
        item = items.popleft()
        if items:
            self._waiting[owner] = items
        return item

    def drop(self, owner: str, item: T) -> bool:
        """Remove an item that is not wanted any more. False if it does not wait."""
        items = self._waiting.get(owner)
        if items is None or item not in items:
            return False
        items.remove(item)
        if not items:
            del self._waiting[owner]
        return True


MOST_WAITING: Final = 1000
"""Requests that may wait for one backend, or for one limit. More are refused at once."""


class SlotTicket:
    """A request that has a slot, or waits for one."""

    __slots__ = ("has_slot", "owner", "ready")

    def __init__(self, owner: str, ready: Callable[[], None]) -> None:
        """`ready` is called when it gets a slot after it waited."""
        self.owner = owner
        self.ready = ready
        self.has_slot = False


class Slots:
    """The requests that run and wait for one backend or one limit, in one process."""

    def __init__(self) -> None:
        self._running = 0
        self._waiting: FairQueue[SlotTicket] = FairQueue()

    @property
    def running(self) -> int:
        return self._running

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def enter(self, ticket: SlotTicket, most: int) -> bool:
        """Take a slot, or wait for one. False if too many requests are already waiting."""
        if self._running < most and not len(self._waiting):
            self._running, ticket.has_slot = self._running + 1, True
            return True
        if len(self._waiting) >= MOST_WAITING:
            return False
        self._waiting.put(ticket.owner, ticket)
        return True

    def leave(self, ticket: SlotTicket, most: int) -> None:
        """Give the slot back, or stop waiting for one. `most` may have changed since; the next ones get what is free."""
        if ticket.has_slot:
            self._running, ticket.has_slot = self._running - 1, False
        else:
            self._waiting.drop(ticket.owner, ticket)
        self.admit(most)

    def admit(self, most: int) -> None:
        """Give free slots to those who wait."""
        while self._running < most and len(self._waiting):
            ticket = self._waiting.take()
            self._running, ticket.has_slot = self._running + 1, True
            ticket.ready()
