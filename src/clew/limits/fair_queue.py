"""A queue in which owners take turns: an owner with fifty requests delays another by one request, not by fifty."""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

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
