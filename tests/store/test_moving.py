"""A move from one kind of store to the other: everything is there afterwards, also if it was interrupted on the way."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
from msgspec import structs

from clew.errors import StoreError
from clew.model.turn import Bodies, NativeTurn
from clew.store import Store, StoreLocation
from clew.store.moving import COLUMNS_NOT_MOVED, NOT_MOVED, TableAccess, move, rows_to_move
from clew.store.values import Lookup
from tests.store.contract.opening import located, opened
from tests.store.turns import NOON, conversation, recorded, turn

DIRECTIONS = [("sqlite", "postgresql"), ("postgresql", "sqlite"), ("sqlite", "sqlite")]
LONG = b"x" * 20_000


def filled(store: Store, turns: int = 5) -> None:
    """Of everything that is kept, something."""
    for number, answer in enumerate(conversation(turns)):
        bodies = Bodies(asked=LONG + str(number).encode(), sent=LONG, answered=b"answer")
        native = NativeTurn(items=(b"1",), answer=b"{}", digest=b"d")
        record = turn(answer, at=NOON + number, bodies=bodies)
        store.record(structs.replace(record, native=native)).result()
    store.record(turn(recorded("other", principal="anna", thread="t2"), at=NOON)).result()
    store.touch("local", keys=[b"k" * 32], recordings=["r1"], at=NOON + 7200).result()
    store.pin("local", "t", "glm").result()
    store.set("active", "glm", at=NOON).result()
    store.forget("anna", "t2", at=NOON + 100).result()


class Two:
    """A store that is moved, and where it goes."""

    def __init__(self, folder: Path, kinds: tuple[str, str]) -> None:
        self.here = located(kinds[0], folder / "here")
        self.there = located(kinds[1], folder / "there")

    def move(self, progress: object = None) -> list[tuple[str, int]]:
        report = progress if callable(progress) else lambda *_: None
        with self.here.tables() as source, self.there.tables() as target:
            return [(each.table, each.rows) for each in move(source, target, report)]


@pytest.fixture(params=DIRECTIONS, ids="-".join)
def two(request: pytest.FixtureRequest, tmp_path: Path) -> Two:
    made = Two(tmp_path, request.param)
    with opened(made.here) as store:
        filled(store)
    return made


def seen(location: StoreLocation) -> list[object]:
    """What callers of a store can see."""
    with opened(location) as store:
        assert store.verify() == ()
        assert store.index_turns().result() >= 0
        ids = [each.id for each in store.exchanges("local")]
        return [
            store.threads("local"),
            store.threads("anna"),
            store.exchanges("local"),
            store.exchanges("anna"),
            store.passages("local", "t"),
            store.tree("local", "t"),
            [store.bodies("local", id) for id in ids],
            [store.native_history("local", id) for id in ids],
            store.usage_totals("local"),
            store.statistics("local", backend="claude", now=NOON + 8000),
            dict(store.settings()),
            {each.id: each for each in store.gather(Lookup(principal="local", ids=("r0", "r4"), links=9)).recordings},
            store.search("local", "answer"),
        ]


def test_everything_is_there_afterwards_and_the_source_is_as_it_was(two: Two) -> None:
    before = seen(two.here)
    moved = dict(two.move())
    assert (moved["recordings"], moved["exchanges"], moved["natives"], moved["bodies"]) == (5, 5, 5, 5)
    assert seen(two.there) == before
    assert seen(two.here) == before


def test_a_store_that_was_moved_goes_on(two: Two) -> None:
    """New rows get numbers behind those that came."""
    two.move()
    with opened(two.there) as store:
        store.record(turn(recorded("new", words="Answer after."), at=NOON + 9000)).result()
        assert store.exchanges("local", limit=1)[0].ended == NOON + 9000
        assert store.verify() == ()


def test_a_move_that_was_interrupted_goes_on_where_it_stopped(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clew.store.moving._BATCH", 2)
    moved: list[str] = []

    def interrupt(table: str, count: int) -> None:
        moved.append(table)
        if moved.count("recordings") == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        two.move(interrupt)
    counted: list[int] = []
    before = seen(two.here)
    two.move(lambda table, count: counted.append(count) if table == "recordings" else None)
    assert sum(counted) == 5 + 1  # all are checked, and one was left to move
    assert seen(two.there) == before


def test_a_target_with_something_in_it_is_refused(two: Two) -> None:
    with opened(two.there) as store:
        store.record(turn(recorded("mine", thread="mine"), at=NOON)).result()
    with pytest.raises(StoreError, match="is not empty"):
        two.move()
    with opened(two.there) as store:
        assert [each.id for each in store.threads("local")] == ["mine"]


def test_a_move_from_another_store_is_not_continued(two: Two, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        two.move(_stop)
    other = Two(tmp_path / "other", ("sqlite", "sqlite"))
    other.there = two.there
    with opened(other.here) as store:
        filled(store, 1)
    with pytest.raises(StoreError, match="finish that one first"):
        other.move()
    other.here, other.there = two.there, located("sqlite", tmp_path / "third")
    with pytest.raises(StoreError, match="finish that one first"):
        other.move()


def _stop(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_row_that_differs_is_found(two: Two) -> None:
    """Somebody writes to the source between the copy and the check."""

    def meddle(table: str, count: int) -> None:
        if table == "settings" and not meddled:
            meddled.append(table)
            with opened(two.here) as store:
                store.set("active", "claude", at=NOON + 1).result()

    meddled: list[str] = []
    with pytest.raises(StoreError, match=r"settings differs: .* with other content"):
        two.move(meddle)


def test_progress_counts_every_row_twice(two: Two) -> None:
    counted: list[int] = []
    with two.here.tables() as source, two.there.tables() as target:
        total = rows_to_move(source, target)
        move(source, target, lambda _, count: counted.append(count))
    assert sum(counted) == total


def test_both_kinds_of_store_have_the_same_tables_and_columns(tmp_path: Path) -> None:
    """Who adds a column to one adds it to the other, or says in `clew.store.moving` why not."""
    with ExitStack() as stack:
        both: list[TableAccess] = [
            stack.enter_context(located(kind, tmp_path / kind).tables()) for kind in ("sqlite", "postgresql")
        ]
        columns = [{(table, column) for table, columns in each.tables().items() for column in columns} for each in both]
    assert columns[0] ^ columns[1] <= COLUMNS_NOT_MOVED
    assert not NOT_MOVED.keys() & {table for table, _ in columns[0] | columns[1]}
