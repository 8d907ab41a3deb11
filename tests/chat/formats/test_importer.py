"""Importing: a bounded number of turns on their way, and a difference between a bad turn and a store that fails."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from clew.chat.formats.importer import MOST_BYTES, MOST_WAITING, Importer
from clew.errors import StoreError
from clew.model.turn import TurnRecord
from clew.store.sqlite.store import SqliteStore
from clew.store.values import Health
from tests.chat.formats.stored import stored
from tests.store.turns import NOON, conversation, recorded, turn


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with stored(tmp_path / "clew.db") as store:
        yield store


class Slow:
    """A store that commits a turn only when somebody waits for it."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self.waiting = self.most = self.bytes = self.most_bytes = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def record(self, turn: TurnRecord, *, brought_back: bool = False) -> Future[bool]:
        weight = sum(map(len, turn.asked))
        self.waiting, self.bytes = self.waiting + 1, self.bytes + weight
        self.most, self.most_bytes = max(self.most, self.waiting), max(self.most_bytes, self.bytes)
        return _Late(self, self._store.record(turn, brought_back=brought_back), weight)


class _Late(Future[bool]):
    def __init__(self, store: Slow, written: Future[bool], weight: int) -> None:
        super().__init__()
        self._slow, self._written, self._weight = store, written, weight

    def result(self, timeout: float | None = None) -> bool:
        self._slow.waiting, self._slow.bytes = self._slow.waiting - 1, self._slow.bytes - self._weight
        return self._written.result(timeout)


@pytest.mark.parametrize(("length", "count"), [(10, 200), (1_000_000, 40)])
def test_only_so_much_is_on_its_way_to_the_disk(store: SqliteStore, length: int, count: int) -> None:
    slow = Slow(store)
    importing = Importer(slow, "local", NOON)
    asked = (b'{"role":"user","content":"%b"}' % (b"x" * length),)
    turns = (TurnRecord(exchange=turn(at=NOON + n, exchange=f"x{n}").exchange, asked=asked) for n in range(count))
    importing.add("a file", turns)
    assert importing.tally.turns == count
    assert (slow.most <= MOST_WAITING, slow.most_bytes <= MOST_BYTES, slow.waiting) == (True, True, 0)


def test_a_turn_that_the_store_does_not_take_costs_that_turn_alone(store: SqliteStore) -> None:
    """The second has the recording of the first under another name of exchange."""
    first, second, third = [turn(each) for each in conversation(3)]
    twice = turn(first.recording, exchange="another")
    importing = Importer(store, "local", NOON)
    importing.add("a file", [first, twice, second, third])
    assert (importing.tally.turns, importing.tally.broken) == (3, 1)
    assert importing.tally.faults[0].why.startswith("the store does not accept a turn: ")
    assert store.verify() == ()


def test_a_store_that_fails_ends_the_import(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    failed: Future[bool] = Future()
    failed.set_exception(StoreError("the disk is full"))
    monkeypatch.setattr(store, "record", lambda turn, **_: failed)
    monkeypatch.setattr(store, "health", lambda: Health(state="degraded", why="the disk is full"))
    importing = Importer(store, "local", NOON)
    with pytest.raises(StoreError, match="the disk is full"):
        importing.add("a file", [turn(recorded("r"))])
    assert importing.tally.turns == 0
