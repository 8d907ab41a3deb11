"""Touches that nobody waits for: what requests brought within a moment is marked as seen together.

Every request of a conversation brings the blocks of the answer before. To mark them takes half as long as to keep a turn, if
that is a transaction of its own, and next to nothing if several are gathered: the marks are coarse anyway. A process that
dies takes a moment of them along, which is no loss: the next request brings the same blocks.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field

from clew.store.sqlite.commands import touch
from clew.store.sqlite.database import Database
from clew.store.sqlite.writer import Writer

__all__ = ["Touches"]


@dataclass(slots=True)
class _Touched:
    """What the requests of one principal brought, and when the last of them came. (Dictionaries, to keep the order.)"""

    keys: dict[bytes, None] = field(default_factory=dict[bytes, None])
    recordings: dict[str, None] = field(default_factory=dict[str, None])
    at: float = 0.0

    def add(self, keys: Iterable[bytes], recordings: Iterable[str], at: float) -> None:
        self.keys.update(dict.fromkeys(keys))
        self.recordings.update(dict.fromkeys(recordings))
        self.at = max(self.at, at)


class Touches:
    """Any thread may add."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._lock = threading.Lock()
        self._gathered: dict[str, _Touched] = {}
        self._written: Future[None] | None = None

    def add(self, principal: str, keys: Iterable[bytes], recordings: Iterable[str], at: float) -> Future[None]:
        """The future is that of all that go together."""
        with self._lock:
            self._gathered.setdefault(principal, _Touched()).add(keys, recordings, at)
            if self._written is None or self._written.done():
                self._written = self._writer.submit(self._write, lazily=True)
                if self._written.done():  # refused: it cannot have begun, since we hold the lock
                    self._gathered = {}
            return self._written

    def _write(self, connection: Database) -> None:
        with self._lock:
            gathered, self._gathered, self._written = self._gathered, {}, None
        for principal, touched in gathered.items():
            touch(connection, principal, tuple(touched.keys), tuple(touched.recordings), touched.at)
