"""The threads of sessions in memory: which one a session and agent used last, as far as this process heard of it.

Another process may have used another since. Both are then threads of one session and agent, and a request that brings no
answer of either says nothing about which it belongs to.
"""

from __future__ import annotations

import threading
from typing import Final

__all__ = ["SessionThreads"]

MOST: Final = 10_000


class SessionThreads:
    """Any thread may ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str, str], str] = {}

    def get(self, principal: str, session: str, agent: str) -> str:
        """ "" if none is known."""
        return self._known.get((principal, session, agent), "")

    def learn(self, principal: str, session: str, agent: str, thread: str) -> None:
        if session and thread:
            with self._lock:
                if len(self._known) > MOST:
                    self._known.clear()
                self._known[principal, session, agent] = thread

    def forget(self, principal: str, thread: str) -> None:
        with self._lock:
            for name in [name for name, at in self._known.items() if (name[0], at) == (principal, thread)]:
                del self._known[name]

    def clear(self) -> None:
        with self._lock:
            self._known.clear()
