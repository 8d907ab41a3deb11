"""Upgrades of the tables in PostgreSQL: from every older schema, with gateways of both versions at work, and back."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from clew.errors import SchemaTooNew
from clew.store.postgres import schema
from clew.store.postgres.database import PostgresDatabase
from clew.store.postgres.store import PostgresStore
from tests.counts import examples
from tests.postgres import prepared_url, shared_server
from tests.store.test_postgres import ids_in
from tests.store.turns import recorded, turn
from tests.waiting import until

pytestmark = pytest.mark.slow

ADDS = """
ALTER TABLE clew.exchanges ADD COLUMN region text NOT NULL DEFAULT '';
ALTER TABLE clew.threads ADD COLUMN starred boolean NOT NULL DEFAULT false;
CREATE INDEX exchanges_by_region ON clew.exchanges (principal, region);
CREATE TABLE clew.regions (name text PRIMARY KEY);
"""
"""What the next release could add."""

OLDEST = (
    "principal, id, thread, started, ended, asked_model, backend, model, session, agent, outcome, status, attempts, changes,"
    " kind, streamed, stop_reason, request_id, heals, kept, tries, asked, readable, process, betas"
)
"""The columns that an exchange always had."""
OF_OLDEST = (
    "'local', 'old', 't', 1.0, 2.0, 'm', 'glm', 'glm-5', 's', '', 'failed', 500, 1, '[]', 'messages', 0, '', '', 0, 0, '[]',"
    " '\\x90', 1, '', ''"
)


@contextmanager
def schema_of(steps: tuple[str, ...]) -> Iterator[None]:
    """As the release that has these steps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schema, "STEPS", steps)
        patch.setattr(schema, "NEWEST", len(steps))
        yield


@pytest.mark.parametrize("version", range(1, schema.NEWEST))
def test_every_older_schema_is_brought_to_the_present_one(version: int) -> None:
    url = shared_server().create()
    with schema_of(schema.STEPS[:version]):
        database = PostgresDatabase(url)
        schema.migrate(database, "here")
        database.run("INSERT INTO clew.threads VALUES ('local', 't', 's', '', 'Old words', 'glm', 1.0, 2.0)")
        database.run("INSERT INTO clew.exchanges (" + OLDEST + ") VALUES (" + OF_OLDEST + ")")
        database.run("INSERT INTO clew.settings VALUES ('', 'active', 'glm', 1.0)")
        database.close()
    with PostgresStore(url) as store:
        [thread] = store.threads("local")
        assert (thread.title, thread.pin, store.settings()) == ("Old words", "glm", {"active": "glm"})
        assert store.record(turn(recorded("a"), client="Codex")).result(60)
        assert [each.client for each in store.exchanges("local")] == ["Codex", ""]
        assert store.verify() == ()


def test_gateways_of_two_releases_work_on_one_database(tmp_path: Path) -> None:
    """The new one is started while the old one writes: none of the turns is lost, and the old one can still be started."""
    url, count, stop = prepared_url(), examples(1, soak=10), threading.Event()
    kept: list[str] = []

    def write(store: PostgresStore) -> None:
        while not stop.is_set():
            id = f"old{len(kept)}"
            assert store.record(turn(recorded(id, thread=id))).result(60)
            kept.append(f"x-{id}")

    steps = schema.STEPS
    with PostgresStore(url, spool=tmp_path / "old") as old:
        writing = threading.Thread(target=write, args=(old,))
        writing.start()
        for number in range(count):
            until(lambda number=number: len(kept) > 20 * (number + 1))
            adds = ADDS if not number else f"CREATE TABLE clew.regions_{number} (name text)"
            steps = (*steps, adds)
            with schema_of(steps), PostgresStore(url) as new:
                for place in range(20):
                    assert new.record(turn(recorded(f"new{number}-{place}"))).result(60)
                    kept.append(f"x-new{number}-{place}")
        enough = len(kept) + 20
        until(lambda: len(kept) > enough)
        stop.set()
        writing.join(60)
        until(lambda: old.health().local == 0)
    with PostgresStore(url) as old:  # a restart of the old release
        assert old.record(turn(recorded("again"))).result(60)
        assert old.verify() == ()
    assert ids_in(url) == {*kept, "x-again"}


def test_a_release_whose_tables_the_old_one_cannot_write_is_refused_in_words() -> None:
    url = prepared_url()
    with schema_of((*schema.STEPS, ADDS + f"UPDATE clew.state SET reads_from = {schema.NEWEST + 1};")):
        PostgresStore(url).close()
    said = rf"has schema {schema.NEWEST + 1}, written by a newer clew; this one knows up to {schema.NEWEST}: update clew"
    with pytest.raises(SchemaTooNew, match=said):
        PostgresStore(url)
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT schema FROM clew.state").fetchall() == [(schema.NEWEST + 1,)], "as it was"
