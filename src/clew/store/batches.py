"""Batches: small writes that nobody waits for go together, and work that is too long for one transaction goes in steps."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from time import monotonic
from typing import Final, Generic, TypeVar

T = TypeVar("T")

DELAY: Final = 0.25
"""Seconds, for what a killed process should not lose."""
LONG_DELAY: Final = 5.0
"""Seconds, for bodies and for the marks that blocks were seen: a killed process loses those of so long."""
MOST: Final = 32
MOST_BYTES: Final = 256 << 10


class DelayedQueue(Generic[T]):
    """A queue whose items wait for a moment, so that one commit serves many.

    Most of the cost of a small transaction is its commit. So they go together when the first is due, or when there are
    enough. A batch is bounded in number and in bytes, since a turn that comes while it is written
    waits for it. Threads that share a queue need a lock for it.
    """

    def __init__(self, delay: float = DELAY, most: int = MOST, most_bytes: int = MOST_BYTES) -> None:
        self._delay = delay
        self._most = most
        self._most_bytes = most_bytes
        self._queue: deque[tuple[T, int]] = deque()
        self.bytes = 0
        """The weight of all items."""
        self._due = 0.0

    def __len__(self) -> int:
        return len(self._queue)

    def add(self, item: T, weight: int, delay: float | None = None) -> bool:
        """Whether a thread that sleeps until the queue is due must wake: the item is due first, or there are now enough."""
        due = monotonic() + (self._delay if delay is None else delay)
        is_first, had_enough = not self._queue or due < self._due, self._has_enough()
        self._due = due if is_first else self._due
        self._queue.append((item, weight))
        self.bytes += weight
        return is_first or self._has_enough() > had_enough

    def seconds_left(self) -> float | None:
        """Seconds until the items are due; None if there are none."""
        return max(0.0, self._due - monotonic()) if self._queue else None

    def is_due(self) -> bool:
        return bool(self._queue) and (self._has_enough() or monotonic() >= self._due)

    def take(self) -> list[T]:
        """Remove the items that go together, oldest first; none if there are none."""
        batch: list[T] = []
        room = self._most_bytes
        while self._queue and len(batch) < self._most and (room > 0 or not batch):
            item, weight = self._queue.popleft()
            self.bytes -= weight
            room -= weight
            batch.append(item)
        return batch

    def _has_enough(self) -> bool:
        return len(self._queue) >= self._most or self.bytes >= self._most_bytes


def run_in_steps(step: Callable[[], Future[int]], last: Callable[[], Future[T]]) -> Future[T]:
    """Repeat a step until it finds nothing to do, then run `last`, whose result this is.

    Each is handed to the writer when the one before is committed, so that whatever came meanwhile is done between two.
    """
    ended: Future[T] = Future()

    def go_on(done: Future[int]) -> None:
        if error := done.exception():
            ended.set_exception(error)
        elif done.result():
            step().add_done_callback(go_on)
        else:
            last().add_done_callback(finish)

    def finish(done: Future[T]) -> None:
        if error := done.exception():
            ended.set_exception(error)
        else:
            ended.set_result(done.result())

    step().add_done_callback(go_on)
    return ended
