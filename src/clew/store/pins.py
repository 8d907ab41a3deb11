"""Pins in memory: the backends that threads stay with, as far as a request of this process asked for them.

What is here was read since the last pin was set or taken back by this process; and since the last one by any other, as soon
as this one hears of it (`RecordingStore.refresh`). `clew use --thread` ends when every process has.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Final

__all__ = ["Pins"]

MOST: Final = 10_000
"""Threads that are remembered."""


class Pins:
    """Any thread may ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], str] = {}
        self._generation = ""
        self.version = 0
        """Another one each time that what was known does not hold any more."""

    def of(self, principal: str, threads: Iterable[str]) -> dict[str, str]:
        """Those that are known; "" is no pin."""
        with self._lock:
            return {name: self._known[principal, name] for name in threads if (principal, name) in self._known}

    def learn(self, principal: str, pins: Mapping[str, str], version: int) -> None:
        """What was read while the version was this; a pin that was changed meanwhile is not in it."""
        with self._lock:
            if version != self.version:
                return
            if len(self._known) > MOST:
                self._known.clear()
            self._known.update({(principal, name): backend for name, backend in pins.items()})

    def renew(self, generation: str) -> None:
        """Somebody says how often pins were changed by now."""
        with self._lock:
            if generation != self._generation:
                self._generation = generation
                self._clear()

    def forget(self) -> None:
        with self._lock:
            self._clear()

    def _clear(self) -> None:
        self.version += 1
        self._known.clear()
