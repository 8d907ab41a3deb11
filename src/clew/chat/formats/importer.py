"""The import of files: the turns that a reader finds go into the store, one by one, and are counted.

At most `MOST_WAITING` turns and `MOST_BYTES` bytes are on their way to the disk, so a directory of any size needs the memory
of its largest answers. A turn that is recorded already changes nothing. Each turn is committed by itself, so everything
before an interruption is kept.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Final

import msgspec
from msgspec import Struct

from clew.chat.formats.answers import IMPORTED, asked_in
from clew.chat.formats.format import KNOWN, UNREADABLE, BrokenLine, ReadItem, Skipped
from clew.errors import StoreError
from clew.model.recording import Recording
from clew.model.turn import TurnRecord
from clew.store.protocols import Store

MOST_WAITING: Final = 32
MOST_BYTES: Final = 8 * 1024 * 1024
_MOST_FAULTS: Final = 1000
"""Further broken lines are only counted."""


class ImportFault(Struct, frozen=True):
    """Something that could not be imported: the file, the line (0: none in particular), and why."""

    file: str
    line: int
    why: str


class ImportCounts(Struct, kw_only=True):
    """How much an import added, knew already, passed over and could not read."""

    files: int = 0
    threads: int = 0
    turns: int = 0
    known: int = 0
    broken: int = 0
    passed: Counter[str] = msgspec.field(default_factory=Counter[str])
    faults: list[ImportFault] = []


class KnownRecordings:
    """The recordings of several stores, also while turns are being written: each look-up asks the stores again."""

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


class _WaitingTurn(Struct, frozen=True):
    thread: str
    size: int
    written: Future[bool]


class Importer:
    """Puts turns into a store. The retention of imported turns counts from `at`, the time of the import.

    `beside` is a second store whose turns count as known. In a dry run it is the real one, and `store` is temporary.
    """

    def __init__(self, store: Store, principal: str, at: float, *, beside: Store | None = None) -> None:
        self._store, self._principal, self._at = store, principal, at
        self._beside = beside
        self._waiting: deque[_WaitingTurn] = deque()
        self._bytes = 0
        self._pins: dict[str, str] = {}
        self._threads: set[str] = set()
        self._file = ""
        self.tally = ImportCounts()

    def add(self, file: str, found: Iterable[ReadItem]) -> None:
        """Import everything that a reader found in one file."""
        self._file = file
        self.tally.files += 1
        for item in found:
            if isinstance(item, TurnRecord):
                self._record(item)
            elif isinstance(item, BrokenLine):
                self._add_fault(item.line, item.why)
            elif isinstance(item, Skipped):
                if item.kind == KNOWN:
                    self.tally.known += 1
                else:
                    self.tally.passed[item.kind] += 1
            elif item.pin and not self._store.exchanges(self._principal, thread=item.id, limit=1):  # a new thread
                self._pins[item.id] = item.pin
        self.settle()

    def _record(self, turn: TurnRecord) -> None:
        if self._has(turn):
            self.tally.known += 1
            return
        size = sum(map(len, turn.asked)) + sum(map(len, turn.recording.blocks if turn.recording else ()))
        while self._waiting and (len(self._waiting) >= MOST_WAITING or self._bytes + size > MOST_BYTES):
            self._settle_one()
        thread = turn.exchange.thread if turn.exchange.kind == "messages" else ""
        self._waiting.append(_WaitingTurn(thread, size, self._store.record(turn, brought_back=True)))
        self._bytes += size
        if turn.recording:
            self._store.touch(self._principal, recordings=[turn.recording.id], at=self._at)

    def _has(self, turn: TurnRecord) -> bool:
        """Is the turn stored already? An open turn must not replace itself, or a newer state of itself."""
        id = turn.exchange.id
        if self._beside is not None and self._beside.exchange(self._principal, id):
            return True
        if turn.recording is None and turn.exchange.backend == IMPORTED:
            # A transcript has no id for a question that was not answered, so its words decide.
            asked = asked_in(turn.asked)
            stores = [self._store] if self._beside is None else [self._store, self._beside]
            for each in (each for store in stores for each in store.passages(self._principal, turn.exchange.thread)):
                with suppress(*UNREADABLE):
                    if each.recording is None and asked_in(each.asked) == asked:
                        return True
        return turn.exchange.outcome == "open" and self._store.exchange(self._principal, id) is not None

    def settle(self) -> None:
        """Wait until everything found so far is on the disk."""
        while self._waiting:
            self._settle_one()
        for thread in self._threads & self._pins.keys():
            self._store.pin(self._principal, thread, self._pins.pop(thread)).result()

    def _settle_one(self) -> None:
        """Wait for the oldest turn. Raises StoreError if the store itself fails, and not only for this turn."""
        done = self._waiting.popleft()
        self._bytes -= done.size
        try:
            new = done.written.result()
        except (StoreError, ValueError, ArithmeticError, TypeError) as error:
            if self._store.health().state != "ok":
                raise
            self._add_fault(0, f"the store does not accept a turn: {error}")
            return
        self.tally.turns, self.tally.known = self.tally.turns + new, self.tally.known + (not new)
        if new and done.thread and done.thread not in self._threads:
            self._threads.add(done.thread)
            self.tally.threads += 1

    def fault(self, file: str, line: int, why: str) -> None:
        """Count a fault that was found outside of a reader."""
        self._file = file
        self._add_fault(line, why)

    def _add_fault(self, line: int, why: str) -> None:
        self.tally.broken += 1
        if len(self.tally.faults) < _MOST_FAULTS:
            self.tally.faults.append(ImportFault(self._file, line, why))
