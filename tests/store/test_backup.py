"""Backups of a store as the docs describe them: what is restored is whole, and goes on."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from clew.limits.limit import LimitScope, read_limit
from clew.model.turn import Bodies
from clew.store import Store
from clew.store.base import DatabaseStore
from clew.store.postgres.store import PostgresStore
from clew.store.sqlite.store import SqliteStore
from tests.database import connected
from tests.postgres import binaries, prepared_url, shared_server
from tests.store.turns import NOON, conversation, recorded, turn
from tests.waiting import until

pytestmark = pytest.mark.slow


def fill(store: DatabaseStore[Any]) -> None:
    for number, each in enumerate(conversation(5)):
        bodies = Bodies(asked=b"asked", sent=b"sent", answered=b"answered")
        assert store.record(turn(each, at=time.time() + number, bodies=bodies)).result(60)
    store.limits.set(read_limit(LimitScope("key", "anna"), "5usd/1d", made=NOON, made_by="bob")).result(60)
    store.set("active", "glm", at=NOON).result(60)
    assert store.search("local", "answer")
    until(lambda: store.bodies("local", "x-r4"))
    store._bodies.close()  # they wait in memory for a moment


def assert_whole(store: Store, before: list[object]) -> None:
    assert store.verify() == ()
    assert seen(store) == before
    assert store.record(turn(recorded("new"), at=time.time() + 100)).result(60), "and it goes on"
    assert len(store.exchanges("local")) == 6
    assert store.verify() == ()


def seen(store: Store) -> list[object]:
    return [
        store.passages("local", "t"),
        store.exchanges("local"),
        store.usage_totals("local"),
        store.limits.all(),
        store.audit.entries(),
        store.settings(),
        store.search("local", "answer"),
        store.bodies("local", "x-r4"),
    ]


def test_a_postgresql_is_dumped_and_restored(tmp_path: Path) -> None:
    url, restored = prepared_url(), shared_server().create()
    with PostgresStore(url) as store:
        fill(store)
        before = seen(store)
        run("pg_dump", "--schema=clew", "--format=custom", "--file", str(tmp_path / "dump"), url)  # while it is open
    run("pg_restore", "--dbname", restored, "--exit-on-error", str(tmp_path / "dump"))
    with PostgresStore(restored) as store:
        assert_whole(store, before)


def test_a_file_is_backed_up_while_gateways_run(tmp_path: Path) -> None:
    """By what `.backup` of the program sqlite3 does."""
    with SqliteStore(tmp_path / "clew.db") as store:
        fill(store)
        before = seen(store)
        source, copy = connected(tmp_path / "clew.db"), connected(tmp_path / "backup.db")
        with copy.backup("main", source, "main") as backup:
            backup.step()
        source.close()
        copy.close()
    (tmp_path / "backup.db").chmod(0o600)
    with SqliteStore(tmp_path / "backup.db") as store:
        assert_whole(store, before)


def run(program: str, *arguments: str) -> None:
    environ = {"PATH": os.environ["PATH"], "LC_ALL": "C"}
    done = subprocess.run([binaries() / program, *arguments], capture_output=True, text=True, env=environ)
    assert done.returncode == 0, done.stderr
