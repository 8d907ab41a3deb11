"""What a process remembers of its store, so that a conversation's next request need not ask the store. Any thread may ask.

`RecordingCache` has decoded recordings that were made or read lately. `PendingRecordings` has those that are on their way to
the disk. `PinCache` has the backends that threads stay with, and `SessionThreads` the last thread of each client session.
All of them are bounded.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Final

from clew.model.recording import Recording, Shelf
from clew.store.values import Lookup

CACHE_BYTES: Final = 16 << 20
_OVERHEAD: Final = 1500
"""Bytes of a recording without its blocks and texts: its objects, ids and hashes."""
_MOST_THREADS: Final = 10_000
"""Threads that are remembered with their pin, and sessions with their thread."""


class RecordingCache:
    """The recordings used last, by principal and id; the one unused for longest goes first.

    A recording never changes once its answer is over, so a cached one is right for as long as the store has it. A look-up in
    the store asks whether it still is there, and only saves the decoding; a request whose answers are all here saves the
    look-up too. A deleted thread is removed from here: at once in the process that deletes it, and in other processes when
    they learn of it.
    """

    def __init__(self, most: int = CACHE_BYTES) -> None:
        self._most = most
        self._bytes = 0
        self._kept: OrderedDict[tuple[str, str], Recording] = OrderedDict()
        self._keys: dict[tuple[str, bytes], Recording] = {}
        self._tools: dict[tuple[str, str], dict[str, Recording]] = {}
        self._lock = threading.Lock()
        self.version = 1
        """Another number each time that what was found before may not be what would be found now."""

    def get(self, principal: str, id: str) -> Recording | None:
        with self._lock:
            if found := self._kept.get((principal, id)):
                self._kept.move_to_end((principal, id))
            return found

    def find_all(self, wanted: Lookup, pending: Iterable[Recording] = ()) -> tuple[Recording, ...] | None:
        """Everything that is wanted by key, tool id and id, and what these followed or came after; None if any of it is not
        here, or leads beyond what is known. `pending` are recordings that are being written: they count too."""
        with self._lock:
            if wanted.known is not None and wanted.known.version != self.version:
                return None
            found = self._find_wanted(wanted, {each.id: each for each in pending})
            if found is None or not self._add_linked(wanted, found):
                return None
            for id in found:
                if (name := (wanted.principal, id)) in self._kept:
                    self._kept.move_to_end(name)
            # Those with a wanted key go last: of two recordings with one key the newer counts, and links may lead to both.
            exact = {each.id: each for key in wanted.keys if (each := self._keys.get((wanted.principal, key)))}
            return (*(each for each in found.values() if each.id not in exact), *exact.values())

    def find_some(self, wanted: Lookup) -> tuple[Recording, ...]:
        """What is here of all that is wanted, by place too, and of what these followed or came after: for a store that
        cannot be asked now. Looks at everything that is kept."""
        keys, tools, ids = set(wanted.keys), set(wanted.tools), set(wanted.ids)
        places = set(wanted.places)
        with self._lock:
            own = {each.id: each for each in self._kept.values() if each.principal == wanted.principal}
        found = {
            each.id: each
            for each in own.values()
            if each.id in ids or each.place in places or keys & set(each.keys) or tools & set(each.said.ids)
        }
        at = [*found.values()]
        while at:
            names = {name for each in at for name in (each.followed, each.strand.after) if name and name not in found}
            at = [own[name] for name in names if name in own]
            found |= {each.id: each for each in at}
        return tuple(each for each in own.values() if each.id in found)

    def _find_wanted(self, wanted: Lookup, pending: dict[str, Recording]) -> dict[str, Recording] | None:
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

    def _add_linked(self, wanted: Lookup, found: dict[str, Recording]) -> bool:
        """Follow all links, level by level. False if one leads to a recording that is not here; or, where some are known, to
        one that is neither known nor wanted."""
        at, known = [*found.values()], wanted.known
        if known is not None:
            links = {name for each in at for name in (each.followed, each.strand.after) if name and name not in found}
            return all(map(known.shelf.by_id, links))
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
        name, weight = (recording.principal, recording.id), weight_of(recording)
        with self._lock:
            if self._kept.get(name) is recording or weight > self._most:
                return
            if self._has_marks_of(recording):
                self.version += 1
            self._drop(name)
            self._kept[name] = recording
            self._bytes += weight
            for key in recording.keys:
                self._keys[recording.principal, key] = recording
            for tool in recording.said.ids:
                self._tools.setdefault((recording.principal, tool), {})[recording.id] = recording
            while self._bytes > self._most:
                self._drop(next(iter(self._kept)))

    def _has_marks_of(self, recording: Recording) -> bool:
        """Whether another one has a block key or a tool id of it: then the newer one counts, or neither."""
        principal = recording.principal
        return any((principal, key) in self._keys for key in recording.keys) or any(
            (principal, tool) in self._tools for tool in recording.said.ids
        )

    def _drop(self, name: tuple[str, str]) -> None:
        gone = self._kept.pop(name, None)
        if gone is None:
            return
        self._bytes -= weight_of(gone)
        for key in gone.keys:
            if self._keys.get((gone.principal, key)) is gone:
                del self._keys[gone.principal, key]
        for tool in gone.said.ids:
            there = self._tools.get((gone.principal, tool), {})
            there.pop(gone.id, None)
            if not there:
                self._tools.pop((gone.principal, tool), None)

    def forget(self, principal: str, thread: str) -> None:
        """Drop the recordings of a deleted thread: nobody asks for them, but their text would stay in memory."""
        with self._lock:
            self.version += 1
            for name, recording in list(self._kept.items()):
                if (recording.principal, recording.thread) == (principal, thread):
                    self._drop(name)

    def clear(self) -> None:
        with self._lock:
            self.version += 1
            self._kept.clear()
            self._keys.clear()
            self._tools.clear()
            self._bytes = 0


def weight_of(recording: Recording) -> int:
    """About how many bytes it takes."""
    return _OVERHEAD + sum(map(len, recording.blocks)) + sum(map(len, recording.said.texts))


class PendingRecordings:
    """Recordings on their way to the disk, until they are written or have failed.

    An answer whose commit takes longer than it may be held back has reached the client all the same, and the next request
    brings it. It must be found: otherwise the next answer would not know what it followed, and one slow moment of the disk
    would break the thread for good.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[tuple[str, str], Recording] = {}

    def add(self, recording: Recording) -> None:
        """Have the recording found from now on."""
        with self._lock:
            self._waiting[recording.principal, recording.id] = recording

    def discard(self, recording: Recording) -> None:
        """Its write is over. Another one of that name stays."""
        name = (recording.principal, recording.id)
        with self._lock:
            if self._waiting.get(name) is recording:
                del self._waiting[name]

    def of(self, principal: str) -> Shelf | None:
        """The pending recordings of one principal; None if there are none, which is nearly always so."""
        if not self._waiting:
            return None
        with self._lock:
            own = [each for (owner, _), each in self._waiting.items() if owner == principal]
        return Shelf(own) if own else None


class PinCache:
    """The pins of threads, as far as a request of this process asked for them.

    What is here was read since this process last set or removed a pin; and since any other process did, as soon as this one
    learns of it (`NewsStore.refresh_pins`). `clew use --thread` ends when every process has.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], str] = {}
        self._generation = ""
        self.version = 0
        """Another number each time that the known pins stop being valid."""

    def of(self, principal: str, threads: Iterable[str]) -> dict[str, str]:
        """The pins that are known; "" is no pin."""
        with self._lock:
            return {name: self._known[principal, name] for name in threads if (principal, name) in self._known}

    def learn(self, principal: str, pins: Mapping[str, str], version: int) -> None:
        """Keep pins that were read while the version was `version`; if it changed meanwhile, they may be outdated."""
        with self._lock:
            if version != self.version:
                return
            if len(self._known) > _MOST_THREADS:
                self._known.clear()
            self._known.update({(principal, name): backend for name, backend in pins.items()})

    def renew(self, generation: str) -> None:
        """Drop the known pins if the store's count of pin changes is not `generation` any more."""
        with self._lock:
            if generation != self._generation:
                self._generation = generation
                self._clear()

    def clear(self) -> None:
        with self._lock:
            self._clear()

    def _clear(self) -> None:
        self.version += 1
        self._known.clear()


class SessionThreads:
    """Which thread a session and agent used last, as far as this process knows.

    Another process may have used another thread since. Both are then threads of one session and agent, and a request that
    brings no answer of either does not say which it belongs to.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str, str], str] = {}

    def get(self, principal: str, session: str, agent: str) -> str:
        """ "" if none is known."""
        return self._known.get((principal, session, agent), "")

    def learn(self, principal: str, session: str, agent: str, thread: str) -> None:
        if session and thread:
            with self._lock:
                if len(self._known) > _MOST_THREADS:
                    self._known.clear()
                self._known[principal, session, agent] = thread

    def forget(self, principal: str, thread: str) -> None:
        with self._lock:
            for name in [name for name, at in self._known.items() if (name[0], at) == (principal, thread)]:
                del self._known[name]

    def clear(self) -> None:
        with self._lock:
            self._known.clear()
