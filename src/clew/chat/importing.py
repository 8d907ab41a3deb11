"""Importing: what a reader finds goes into the store, turn by turn, and is counted.

Only so much may be on its way to the disk as the store takes without complaint, so that a directory of any size needs the
memory of its largest answers. A turn that is there already changes nothing. Whatever was found before an interruption is
kept: each turn is committed by itself.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from typing import Final

import msgspec
from msgspec import Struct

from clew.chat.formats.shape import KNOWN, UNREADABLE, Broken, Found, Passed
from clew.chat.formats.weaving import IMPORTED, asked_in
from clew.errors import StoreError
from clew.model.recording import Recording
from clew.store.protocols import Store
from clew.store.values import Passage, Thread, Turn
from clew.thinking.keys import Asked

__all__ = ["Fault", "Importing", "Known", "Tally"]

MOST_WAITING: Final = 32
MOST_BYTES: Final = 8 * 1024 * 1024
MOST_FAULTS: Final = 1000
"""Of more broken lines only the number is told."""


class Fault(Struct, frozen=True):
    """Something that could not be imported: the file, the line (0: none in particular), and why."""

    file: str
    line: int
    why: str


class Tally(Struct, kw_only=True):
    """What came of an import."""

    files: int = 0
    threads: int = 0
    turns: int = 0
    known: int = 0
    broken: int = 0
    passed: Counter[str] = msgspec.field(default_factory=Counter[str])
    faults: list[Fault] = []


class Known:
    """What several stores have recorded, those being written included: each look-up asks anew."""

    def __init__(self, principal: str, *stores: Store) -> None:
        self._principal, self._stores = principal, stores

    def by_id(self, id: str) -> Recording | None:
        return next(filter(None, (each.recordings(self._principal).by_id(id) for each in self._stores)), None)

    def by_key(self, key: bytes) -> Recording | None:
        return next(filter(None, (each.recordings(self._principal).by_key(key) for each in self._stores)), None)

    def by_tool(self, id: str) -> Sequence[Recording]:
        return [found for each in self._stores for found in each.recordings(self._principal).by_tool(id)]

    def by_place(self, place: bytes) -> Sequence[Recording]:
        return [found for each in self._stores for found in each.recordings(self._principal).by_place(place)]


class _Waiting(Struct, frozen=True):
    thread: str
    weight: int
    written: Future[bool]


class Importing:
    """Puts what is found into a store; `at` is the time of the import, from which the retention of what came counts.

    `beside` is what has a turn already: for a rehearsal, in which another store stands in for the real one.
    """

    def __init__(self, store: Store, principal: str, at: float, *, beside: Store | None = None) -> None:
        self._store, self._principal, self._at = store, principal, at
        self._beside = beside
        self._waiting: deque[_Waiting] = deque()
        self._bytes = 0
        self._pins: dict[str, str] = {}
        self._threads: set[str] = set()
        self._file = ""
        self.tally = Tally()

    def add(self, file: str, found: Iterable[Found]) -> None:
        """Everything of one file."""
        self._file = file
        self.tally.files += 1
        for each in found:
            self._take(each)
        self.settle()

    def _take(self, found: Found) -> None:
        if isinstance(found, Turn):
            self._record(found)
        elif isinstance(found, Broken):
            self._fault(found.line, found.why)
        elif isinstance(found, Passed):
            self._pass(found.kind)
        elif found.pin and self._is_new(found):
            self._pins[found.id] = found.pin

    def _pass(self, kind: str) -> None:
        if kind == KNOWN:
            self.tally.known += 1
        else:
            self.tally.passed[kind] += 1

    def _is_new(self, thread: Thread) -> bool:
        return not self._store.exchanges(self._principal, thread=thread.id, limit=1)

    def _record(self, turn: Turn) -> None:
        if self._has(turn):
            self.tally.known += 1
            return
        weight = sum(map(len, turn.asked)) + sum(map(len, turn.recording.blocks if turn.recording else ()))
        while self._waiting and (len(self._waiting) >= MOST_WAITING or self._bytes + weight > MOST_BYTES):
            self._settle_one()
        thread = turn.exchange.thread if turn.exchange.kind == "messages" else ""
        self._waiting.append(_Waiting(thread, weight, self._store.record(turn, brought_back=True)))
        self._bytes += weight
        if turn.recording:
            self._store.touch(self._principal, recordings=[turn.recording.id], at=self._at)

    def _has(self, turn: Turn) -> bool:
        """One that is open would take the place of itself, or of something newer."""
        id = turn.exchange.id
        if self._beside is not None and self._beside.exchange(self._principal, id):
            return True
        if turn.recording is None and self._is_asked_already(turn):
            return True
        return turn.exchange.outcome == "open" and self._store.exchange(self._principal, id) is not None

    def _is_asked_already(self, turn: Turn) -> bool:
        """A question that nobody answered has no name in a transcript but its words."""
        if turn.exchange.backend != IMPORTED:
            return False
        asked = asked_in(turn.asked)
        stores = (self._store, *([self._beside] if self._beside is not None else []))
        said = (each for store in stores for each in store.passages(self._principal, turn.exchange.thread))
        return any(each.recording is None and _asks(each, asked) for each in said)

    def settle(self) -> None:
        """Wait until all that was found is on the disk."""
        while self._waiting:
            self._settle_one()
        for thread in self._threads & self._pins.keys():
            self._store.pin(self._principal, thread, self._pins.pop(thread)).result()

    def _settle_one(self) -> None:
        """Raises StoreError where the store itself fails, and not only with this turn."""
        done = self._waiting.popleft()
        self._bytes -= done.weight
        try:
            new = done.written.result()
        except (StoreError, ValueError, ArithmeticError, TypeError) as error:
            if self._store.health().state != "ok":
                raise
            self._fault(0, f"the store does not take a turn: {error}")
            return
        self.tally.turns, self.tally.known = self.tally.turns + new, self.tally.known + (not new)
        if new:
            self._count(done.thread)

    def _count(self, thread: str) -> None:
        if thread and thread not in self._threads:
            self._threads.add(thread)
            self.tally.threads += 1

    def fault(self, file: str, line: int, why: str) -> None:
        """Something that no reader has seen."""
        self._file = file
        self._fault(line, why)

    def _fault(self, line: int, why: str) -> None:
        self.tally.broken += 1
        if len(self.tally.faults) < MOST_FAULTS:
            self.tally.faults.append(Fault(self._file, line, why))


def _asks(passage: Passage, asked: Asked) -> bool:
    try:
        return asked_in(passage.asked) == asked
    except UNREADABLE:
        return False
