"""Recordings that were read lately, decoded: the ones that the next request of the same conversation asks for again.

A recording never changes, so what was decoded once is right for as long as the recording is there. Whether it is there is
asked of the database each time, so that a deletion by any process is seen at once; only reading and decoding its blocks,
which is most of the work, is spared. Bounded in bytes, the longest unused goes first.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

from clew.model.recording import Recording

__all__ = ["MOST", "Decoded"]

MOST: Final = 16 << 20

_OVERHEAD: Final = 1500
"""Bytes of a recording without its blocks and texts: its objects, ids and hashes."""


class Decoded:
    """The last used recordings by principal and id. Any thread may ask."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._bytes = 0
        self._kept: OrderedDict[tuple[str, str], Recording] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, principal: str, id: str) -> Recording | None:
        with self._lock:
            if found := self._kept.get((principal, id)):
                self._kept.move_to_end((principal, id))
            return found

    def add(self, recording: Recording) -> None:
        name, weight = (recording.principal, recording.id), _weight(recording)
        with self._lock:
            if name in self._kept or weight > self._most:
                return
            self._kept[name] = recording
            self._bytes += weight
            while self._bytes > self._most:
                self._bytes -= _weight(self._kept.popitem(last=False)[1])

    def forget(self, principal: str, thread: str) -> None:
        """Let go of a thread that was deleted: nobody asks for it again, but its words would stay."""
        with self._lock:
            for name, recording in list(self._kept.items()):
                if (recording.principal, recording.thread) == (principal, thread):
                    self._bytes -= _weight(self._kept.pop(name))

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self._bytes = 0


def _weight(recording: Recording) -> int:
    return _OVERHEAD + sum(map(len, recording.blocks)) + sum(map(len, recording.said.texts))
