"""Marking what requests brought as seen, many requests at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Generic, TypeAlias, TypeVar

Connection = TypeVar("Connection")
Touch: TypeAlias = Callable[[Connection, str, Iterable[bytes], Iterable[str], float], None]
"""Marks block keys and recordings of a principal as seen at a time."""

SEEN_STEP = 60.0
USED_STEP = 3600.0
"""Seconds below which a mark is not written again: of a block, and of a recording, whose row is large."""


class TouchBatch(Generic[Connection]):
    """Touches that nobody waits for: what requests brought within a moment is marked as seen together. Any thread may add.

    Every request of a conversation brings the blocks of the previous answer. Marking them takes half as long as recording a
    turn if that is a transaction of its own, and next to nothing together with others. A process that dies loses some of the
    marks, which does no harm: the next request brings the same blocks.
    """

    def __init__(self, submit: Callable[[Callable[[Connection], None]], Future[None]], touch: Touch[Connection]) -> None:
        """`submit` has a command run some seconds later, and `touch` is what it then does for each principal."""
        self._submit = submit
        self._touch = touch
        self._lock = threading.Lock()
        self._gathered: dict[str, tuple[dict[bytes, None], dict[str, None], float]] = {}
        """By principal: keys and recordings (dictionaries, to keep the order), and the time of the last request."""
        self._written: Future[None] | None = None

    def add(self, principal: str, keys: Iterable[bytes], recordings: Iterable[str], at: float) -> Future[None]:
        """The future is that of all touches that go together."""
        with self._lock:
            all_keys, all_recordings, last = self._gathered.get(principal, ({}, {}, 0.0))
            all_keys.update(dict.fromkeys(keys))
            all_recordings.update(dict.fromkeys(recordings))
            self._gathered[principal] = all_keys, all_recordings, max(last, at)
            if self._written is None or self._written.done():
                self._written = self._submit(self._write)
                if self._written.done():  # refused: it cannot have begun, since this thread holds the lock
                    self._gathered = {}
            return self._written

    def _write(self, connection: Connection) -> None:
        with self._lock:
            gathered, self._gathered, self._written = self._gathered, {}, None
        for principal, (keys, recordings, at) in gathered.items():
            self._touch(connection, principal, keys, recordings, at)
