"""Lingering: what nobody waits for stays a moment, so that one commit does for many.

Most of what a small transaction costs is its commit. So the first of them starts the time, and they go together when it is
over, or when there are enough. What is taken at once is bounded in number and in bytes too, since a turn that comes while
they are written waits for them.
"""

from __future__ import annotations

from collections import deque
from time import monotonic
from typing import Final, Generic, TypeVar

__all__ = ["BYTES", "MOST", "SECONDS", "Lingering"]

T = TypeVar("T")

SECONDS: Final = 0.25
MOST: Final = 32
BYTES: Final = 256 << 10


class Lingering(Generic[T]):
    """A queue that can be asked whether it is time. Whoever shares it with other threads has a lock for it."""

    def __init__(self, seconds: float = SECONDS, most: int = MOST, most_bytes: int = BYTES) -> None:
        self._seconds = seconds
        self._most = most
        self._most_bytes = most_bytes
        self._queue: deque[tuple[T, int]] = deque()
        self.bytes = 0
        """What all of them weigh."""
        self._due = 0.0

    def __len__(self) -> int:
        return len(self._queue)

    def add(self, what: T, weight: int) -> bool:
        """Whether this is news for whoever sleeps: it is the first, or with it there are enough."""
        if not self._queue:
            self._due = monotonic() + self._seconds
        had_enough = self._has_enough()
        self._queue.append((what, weight))
        self.bytes += weight
        return len(self._queue) == 1 or self._has_enough() > had_enough

    def left(self) -> float | None:
        """Seconds until they are due; None if there are none."""
        return max(0.0, self._due - monotonic()) if self._queue else None

    def is_due(self) -> bool:
        return bool(self._queue) and (self._has_enough() or monotonic() >= self._due)

    def taken(self) -> list[T]:
        """As many as go together, the first first; none if there are none."""
        batch: list[T] = []
        room = self._most_bytes
        while self._queue and len(batch) < self._most and (room > 0 or not batch):
            what, weight = self._queue.popleft()
            self.bytes -= weight
            room -= weight
            batch.append(what)
        return batch

    def _has_enough(self) -> bool:
        return len(self._queue) >= self._most or self.bytes >= self._most_bytes
