"""Gateways that know of each other by the database alone: the generation, who they are, their secret, and the feed."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest

from clew.engine import current
from clew.errors import StoreError
from clew.store.postgres import generation
from clew.store.postgres.database import PostgresDatabase
from clew.store.postgres.store import PostgresStore
from clew.store.values import GatewayProcess
from tests.postgres import prepared_url
from tests.store.turns import NOON, recorded, turn
from tests.waiting import until


@pytest.fixture
def url() -> str:
    return prepared_url()


def test_choices_pins_and_deletions_raise_the_generation_and_turns_do_not(url: str) -> None:
    with PostgresStore(url) as store:
        began = store.changes()
        store.record(turn(recorded("a"))).result(60)
        store.touch("local", keys=[b"k"], at=NOON).result(60)
        assert store.changes() == began
        store.set("active", "glm", at=NOON).result(60)
        assert store.changes() == began + 1
        store.pin("local", "t", "glm").result(60)
        assert store.changes() == began + 2
        store.forget("local", "t", at=NOON).result(60)
        assert store.changes() == began + 3


def test_a_change_has_a_transaction_apart_from_turns_that_wait_with_it(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL lets transactions that notify commit one after the other: no turn may be among them."""
    with PostgresStore(url) as store:
        writer = store._row_writer
        original, told, held = writer._transact, list[list[bool]](), threading.Event()

        def note(database: PostgresDatabase, commands: Sequence[object]) -> object:
            told.append([command.tells for command in commands])  # type: ignore[attr-defined]
            return original(database, commands)  # type: ignore[arg-type]

        monkeypatch.setattr(writer, "_transact", note)
        writer.submit(lambda _: held.wait(60))
        first = store.record(turn(recorded("a")))
        chosen = store.set("active", "glm", at=NOON)
        last = store.record(turn(recorded("b")))
        held.set()
        assert (first.result(60), chosen.result(60), last.result(60)) == (True, None, True)
    assert [False] in told
    assert [True] in told
    assert all(len(set(each)) == 1 for each in told)


@pytest.mark.parametrize("is_pooled", [False, True])
def test_a_gateway_hears_of_a_choice_within_a_second(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_pooled: bool
) -> None:
    """By a notification, or by the next time that it reads; then its settings follow with the next glance. Counted by what it
    reads: how long that takes on a busy machine says nothing."""
    monkeypatch.setattr(PostgresDatabase, "is_pooled", is_pooled)
    if not is_pooled:
        monkeypatch.setattr(generation, "POLL_SECONDS", 600.0)  # only a notification can tell it
    read: list[int] = []

    def read_generation(database: PostgresDatabase) -> int:
        read.append(original(database))
        return read[-1]

    original = generation.read_generation
    monkeypatch.setattr(generation, "read_generation", read_generation)
    with PostgresStore(url, spool=tmp_path / "spool") as gateway, PostgresStore(url) as command:
        assert gateway._listener
        until(lambda: gateway._listener.generation)  # type: ignore[union-attr]
        assert gateway._listener.is_listening is not is_pooled
        command.set("active", "glm", at=NOON).result(60)
        before = len(read)
        until(lambda: gateway.changes() == command._row_writer.generation)
    first = next(number for number, seen in enumerate(read) if seen == command._row_writer.generation)
    assert first <= before + 1, "the next read, or the one behind a read that was under way"
    waits = generation.POOLED_POLL_SECONDS if is_pooled else 0.0
    assert waits + current._EVERY <= 1.0


def test_every_gateway_sees_all_that_live_and_what_they_have_taken_over(url: str, tmp_path: Path) -> None:
    with PostgresStore(url) as mine, PostgresStore(url) as looking:
        here = GatewayProcess(name="a", machine="one", pid=7, address="http://one:8788", version="1", config="c", taken=1)
        mine.announce(here)
        until(lambda: looking.gateways() == [here])
        newer = GatewayProcess(name="a", machine="one", pid=7, address="http://one:8788", version="1", config="d", taken=2)
        mine.announce(newer)
        until(lambda: looking.gateways() == [newer])
        mine.close()
        assert looking.gateways() == []


def test_a_gateway_with_another_secret_is_refused_and_one_that_rotated_it_is_not(url: str) -> None:
    PostgresStore(url, seal_keys=("old",)).close()
    PostgresStore(url, seal_keys=("new", "old")).close()
    PostgresStore(url).close()
    with pytest.raises(StoreError, match=r"another secret.*CLEW_SECRET"):
        PostgresStore(url, seal_keys=("strange",))


def test_what_is_followed_misses_no_exchange_whose_transaction_took_longer(url: str) -> None:
    """Its row has a lower number than rows that were visible before it."""
    with PostgresStore(url) as store, psycopg.connect(url) as slow:
        store.record(turn(recorded("a"))).result(60)
        columns = (
            "principal, thread, started, ended, asked_model, backend, model, session, agent, outcome, status, attempts, "
        )
        columns += "changes, kind, streamed, stop_reason, request_id, heals, kept, tries, asked, readable, process, betas"
        begun = store.position("local")
        insert = f"INSERT INTO clew.exchanges (id, {columns}) SELECT 'slow', {columns} FROM clew.exchanges WHERE id = 'x-a'"
        slow.execute(insert)  # type: ignore[arg-type]
        store.record(turn(recorded("b"))).result(60)
        page, position = store.exchanges_since("local", begun, limit=10)
        seen = [each.id for each in page]
        assert "slow" not in seen
        slow.commit()
        store.record(turn(recorded("c"))).result(60)
        until(lambda: len(store.exchanges_since("local", position, limit=10)[0]) + len(seen) >= 3)
        page, position = store.exchanges_since("local", position, limit=10)
        seen += [each.id for each in page]
        assert sorted(seen) == ["slow", "x-b", "x-c"]
        assert store.exchanges_since("local", position, limit=10) == ([], position)


@pytest.mark.parametrize("wrong", [-5.0, 5.0])
def test_a_deletion_reaches_an_answer_of_a_gateway_whose_clock_is_wrong(
    url: str, monkeypatch: pytest.MonkeyPatch, wrong: float
) -> None:
    """Its times are told by the server's clock: an answer that began before the deletion does not come back."""
    with PostgresStore(url) as right:
        right.record(turn(recorded("a"), at=time.time())).result(60)
        real = time.time
        with monkeypatch.context() as patch:
            patch.setattr("clew.store.postgres.database.time", SimpleNamespace(time=lambda: real() + wrong))
            store = PostgresStore(url)
        with store as skewed:
            assert abs(skewed.clock_offset + wrong) < 3
            began = time.time() + wrong + skewed.clock_offset
            right.forget("local", "t", at=time.time()).result(60)
            assert skewed.record(turn(recorded("b"), at=began)).result(60) is False
        assert right.thread("local", "t") is None
        assert [each.kind for each in right.exchanges("local")] == ["forgotten"]
        later = time.time() + 60
        assert right.record(turn(recorded("c"), at=later)).result(60), "what began afterwards is kept"
