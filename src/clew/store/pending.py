"""Recordings on their way to the disk.

An answer whose commit takes longer than it may be held back has reached the client all the same, and the next request comes
with it. It must be found: else the answer after it would not know what it followed, and the thread would be broken for good
by one slow moment of the disk. Only this process sees them, and only until they are written or are not.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future

from clew.model.recording import Recording, Shelf

__all__ = ["Pending"]


class Pending:
    """Any thread may ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[tuple[str, str], Recording] = {}

    def add(self, recording: Recording, written: Future[bool]) -> None:
        """From now on it is found, until the write is over."""
        name = (recording.principal, recording.id)
        with self._lock:
            self._waiting[name] = recording
        written.add_done_callback(lambda _: self._forget(name, recording))

    def of(self, principal: str) -> Shelf | None:
        """Those of one principal; None if there are none, which is nearly always so."""
        if not self._waiting:
            return None
        with self._lock:
            own = [each for (owner, _), each in self._waiting.items() if owner == principal]
        return Shelf(own) if own else None

    def _forget(self, name: tuple[str, str], recording: Recording) -> None:
        with self._lock:
            if self._waiting.get(name) is recording:
                del self._waiting[name]
