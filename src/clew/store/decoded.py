"""Recordings that this process made or read lately, decoded: the ones that the next request of a conversation asks for.

A recording never changes once its answer is over, so what is here is right for as long as the recording is there. A look-up
in the store asks whether it still is, and is only spared the decoding; a request whose answers are all here is spared the
look-up. A thread that is deleted goes from here too: at once where it is deleted, and in other processes when these hear of
it. Bounded in bytes, the longest unused goes first.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from clew.model.recording import Recording
from clew.store.lookup import Lookup

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
        self._keys: dict[tuple[str, bytes], Recording] = {}
        self._tools: dict[tuple[str, str], dict[str, Recording]] = {}
        self._lock = threading.Lock()

    def get(self, principal: str, id: str) -> Recording | None:
        with self._lock:
            if found := self._kept.get((principal, id)):
                self._kept.move_to_end((principal, id))
            return found

    def all_of(self, wanted: Lookup, pending: Iterable[Recording] = ()) -> tuple[Recording, ...] | None:
        """All that is wanted by key, tool id and id, and what these followed or came after; None if one of them is not
        here. `pending` are those that are being written, which are there too."""
        with self._lock:
            found = self._pointed_at(wanted, {each.id: each for each in pending})
            if found is None or not self._follow(wanted, found):
                return None
            for id in found:
                if (name := (wanted.principal, id)) in self._kept:
                    self._kept.move_to_end(name)
            exact = {each.id: each for key in wanted.keys if (each := self._keys.get((wanted.principal, key)))}
            return (*(each for each in found.values() if each.id not in exact), *exact.values())

    def _pointed_at(self, wanted: Lookup, pending: dict[str, Recording]) -> dict[str, Recording] | None:
        principal, found = wanted.principal, dict[str, Recording]()
        keys = {key: each for each in pending.values() for key in each.keys}
        tools = {tool: each for each in pending.values() for tool in each.said.ids}
        for key in wanted.keys:
            recording = keys.get(key) or self._keys.get((principal, key))
            if recording is None:
                return None
            found[recording.id] = recording
        for tool in wanted.tools:
            there = self._tools.get((principal, tool), {})
            if tool in tools:
                there = there | {tools[tool].id: tools[tool]}
            if not there:
                return None
            found |= there
        for id in wanted.ids:
            recording = pending.get(id) or self._kept.get((principal, id))
            if recording is None:
                return None
            found[id] = recording
        return found

    def _follow(self, wanted: Lookup, found: dict[str, Recording]) -> bool:
        """Whether all links lead to what is here. They are followed one by one, level by level."""
        at = [*found.values()]
        for _ in range(wanted.links):
            names = {name for each in at for name in (each.followed, each.strand.after) if name and name not in found}
            if not names:
                break
            there = [self._kept.get((wanted.principal, name)) for name in names]
            at = [each for each in there if each is not None]
            if len(at) < len(there):
                return False
            found |= {each.id: each for each in at}
        return True

    def add(self, recording: Recording) -> None:
        name, weight = (recording.principal, recording.id), _weight(recording)
        with self._lock:
            if self._kept.get(name) is recording or weight > self._most:
                return
            self._drop(name)
            self._kept[name] = recording
            self._bytes += weight
            for key in recording.keys:
                self._keys[recording.principal, key] = recording
            for tool in recording.said.ids:
                self._tools.setdefault((recording.principal, tool), {})[recording.id] = recording
            while self._bytes > self._most:
                self._drop(next(iter(self._kept)))

    def _drop(self, name: tuple[str, str]) -> None:
        gone = self._kept.pop(name, None)
        if gone is None:
            return
        self._bytes -= _weight(gone)
        for key in gone.keys:
            if self._keys.get((gone.principal, key)) is gone:
                del self._keys[gone.principal, key]
        for tool in gone.said.ids:
            there = self._tools.get((gone.principal, tool), {})
            there.pop(gone.id, None)
            if not there:
                self._tools.pop((gone.principal, tool), None)

    def forget(self, principal: str, thread: str) -> None:
        """Let go of a thread that was deleted: nobody asks for it again, but its words would stay."""
        with self._lock:
            for name, recording in list(self._kept.items()):
                if (recording.principal, recording.thread) == (principal, thread):
                    self._drop(name)

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self._keys.clear()
            self._tools.clear()
            self._bytes = 0


def _weight(recording: Recording) -> int:
    return _OVERHEAD + sum(map(len, recording.blocks)) + sum(map(len, recording.said.texts))
