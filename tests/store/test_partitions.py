"""Days of bodies and months of usage in PostgreSQL: made ahead, dropped as a whole, and never at the cost of a turn."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import psycopg
import pytest

from clew.errors import StoreError
from clew.model.turn import Bodies
from clew.store.postgres import schema
from clew.store.postgres.database import PostgresDatabase
from clew.store.postgres.partitions import make_partitions
from clew.store.postgres.store import PostgresStore
from clew.store.values import DAY, Retention
from tests.numbers import note
from tests.postgres import prepared_url, shared_server
from tests.store.test_upgrades import ADDS, schema_of
from tests.store.turns import NOON, recorded, turn
from tests.waiting import until

NOTHING = Retention(age=None, bytes=None, usage_age=None)
DAYS = Retention(age=None, bytes=None, usage_age=60 * DAY, bodies_age=3 * DAY)


@pytest.fixture
def url() -> str:
    return prepared_url()


def fill(store: PostgresStore, count: int) -> None:
    """Bodies and usage of one old day, in partitions of that day and month."""
    store._writer.submit(lambda database: make_partitions(database, NOON)).result(60)
    for number in range(count):
        bodies = Bodies(asked=b"asked" * 200, sent=b"sent", answered=b"answered")
        store.record(turn(recorded(f"r{number}", thread=f"t{number}"), at=NOON + number, bodies=bodies))
    until(lambda: store.bodies("local", f"x-r{count - 1}"))
    store._bodies.close()


def tables(url: str) -> set[str]:
    """The partitions of the old day and month."""
    names = {f"bodies_{int(NOON // DAY)}", f"pieces_{int(NOON // DAY)}", "usage_202701"}
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT relname FROM pg_class WHERE relnamespace = 'clew'::regnamespace")
        return names & {name for (name,) in found}


def log_position(url: str) -> int:
    with psycopg.connect(url) as connection:
        return int(str(connection.execute("SELECT pg_current_wal_lsn() - '0/0'").fetchall()[0][0]))


def retain(store: PostgresStore, *, now: float = NOON + 100 * DAY) -> int:
    steps = 0
    while store.apply_retention(DAYS, now=now).result(60):
        steps += 1
    return steps


def test_a_day_is_dropped_by_what_does_not_grow_with_its_rows() -> None:
    """Counted by what the server writes into its log. A row that is deleted is written there."""
    written: list[int] = []
    for count in (4, 200):
        url = shared_server().create()
        with PostgresStore(url, keep=None) as store:
            fill(store, count)
            assert len(tables(url)) == 3
            before = log_position(url)
            assert retain(store) < 10, "a table in each step"
            written.append(log_position(url) - before)
            assert tables(url) == set()
            assert store.bodies("local", "x-r1") is None
            assert store.verify() == ()
    note("bytes of the server's log for a day of bodies and a month of usage that are dropped", written[1])
    assert written[1] < 2 * written[0]


def test_nobody_waits_for_a_table_that_is_read_for_long(url: str) -> None:
    """As by a backup. Turns go on, and what is old is dropped when it is over."""
    with PostgresStore(url, keep=None) as store, psycopg.connect(url) as backup:
        fill(store, 2)
        backup.execute("LOCK TABLE clew.bodies, clew.pieces, clew.usage IN ACCESS SHARE MODE")
        assert retain(store) == 0
        assert store.record(turn(recorded("meanwhile"), at=NOON + 100 * DAY)).result(60)
        assert len(tables(url)) == 3
        backup.rollback()
        assert retain(store) < 10
        assert tables(url) == set()


def test_of_several_gateways_one_deletes(url: str) -> None:
    with PostgresStore(url) as store, PostgresStore(url) as other:
        for number in range(30):
            store.record(turn(recorded(f"r{number}"), at=NOON)).result(60)
        old = Retention(age=DAY, bytes=None)

        def meanwhile(database: PostgresDatabase) -> tuple[int, int]:
            """In the transaction of the one that deletes."""
            mine = store._statements.apply_retention(database, old, NOON + 9 * DAY)
            return mine, other.apply_retention(old, now=NOON + 9 * DAY).result(60)

        assert store._writer.submit(meanwhile).result(60) == (20, 0)
        assert other.apply_retention(old, now=NOON + 9 * DAY).result(60) == 10


def test_what_deletes_has_a_transaction_apart_from_turns(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with PostgresStore(url) as store:
        writer = store._row_writer
        original, seen, held = writer._transact, list[list[str]](), threading.Event()

        def note_kinds(database: PostgresDatabase, commands: Sequence[object]) -> object:
            seen.append([command.erases for command in commands])  # type: ignore[attr-defined]
            return original(database, commands)  # type: ignore[arg-type]

        monkeypatch.setattr(writer, "_transact", note_kinds)
        writer.submit(lambda _: held.wait(60))
        waiting = [
            store.record(turn(recorded("a"))),
            store.apply_retention(NOTHING, now=NOON),
            store.record(turn(recorded("b"))),
        ]
        held.set()
        assert [each.result(60) for each in waiting] == [True, 0, True]
    assert ["soon"] in seen
    assert all(len(set(each)) == 1 for each in seen)


def test_an_upgrade_does_not_wait_for_a_table_that_is_read_for_long(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All turns of the gateways that run would wait behind it."""
    monkeypatch.setattr(schema, "LOCK_WAIT", "50ms")
    with schema_of((*schema.STEPS, ADDS)):
        with psycopg.connect(url) as backup:
            backup.execute("LOCK TABLE clew.exchanges IN ACCESS SHARE MODE")
            with pytest.raises(StoreError, match="lock timeout"):
                PostgresStore(url)
        with PostgresStore(url) as store:
            assert store.record(turn(recorded("a"))).result(60)
