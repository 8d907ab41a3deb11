"""A database that takes what is sent and says nothing: who asks first waits for a moment, and nobody else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clew.errors import StoreError
from clew.store.postgres import readers, writer
from clew.store.postgres.database import PostgresDatabase
from clew.store.postgres.readers import PostgresReaders
from clew.store.postgres.store import PostgresStore
from clew.store.values import Lookup
from tests.fault_proxy import FaultProxy, fault_proxy
from tests.postgres import prepared_url, shared_server
from tests.store.turns import NOON, conversation, recorded, turn
from tests.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
ANSWERS = conversation(4)
LAST = Lookup(principal="local", keys=ANSWERS[-1].keys, links=9)


@pytest.fixture
def proxy() -> Iterator[FaultProxy]:
    with fault_proxy(shared_server()) as proxy:
        yield proxy


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One entry for each read that a connection is used for. A request waits for a moment only."""
    monkeypatch.setattr(readers, "REQUEST_SECONDS", 0.3)
    monkeypatch.setattr(readers, "AWAY_SECONDS", 600.0)
    found: list[str] = []
    original = PostgresReaders._run

    def noted(
        pool: PostgresReaders, database: PostgresDatabase, until: float | None, query: Callable[[PostgresDatabase], object]
    ) -> object:
        found.append("read")
        return original(pool, database, until, query)

    monkeypatch.setattr(PostgresReaders, "_run", noted)
    return found


@pytest.fixture
def store(proxy: FaultProxy, tmp_path: Path) -> Iterator[PostgresStore]:
    """Of a process that serves. Another one recorded a conversation."""
    url = prepared_url()
    with PostgresStore(url) as other:
        for each in ANSWERS:
            assert other.record(turn(each)).result(60)
    with PostgresStore(proxy.url(url, "tcp_user_timeout=2000"), spool=tmp_path / "spool") as store:
        until(lambda: store.changes() and store._listener and store._listener.generation)
        yield store
        proxy.fault = "none"


def test_one_look_up_waits_and_all_others_go_on_with_memory_until_the_server_answers(
    store: PostgresStore, proxy: FaultProxy, asked: list[str]
) -> None:
    assert len(store.gather(LAST).recordings) == 4
    asked.clear()
    proxy.fault = "deaf"
    for _ in range(20):
        found = store.gather(LAST)
        assert found.failure is not None
        assert len(found.recordings) == 4, "which memory has"
    assert asked == ["read"]
    with pytest.raises(StoreError, match="no reply within"):
        store.settings()
    proxy.fault = "none"
    proxy.cut()
    until(lambda: store.gather(LAST).failure is None)
    assert len(store.gather(LAST).recordings) == 4


def test_a_look_up_of_two_round_trips_waits_once(store: PostgresStore, proxy: FaultProxy, asked: list[str]) -> None:
    """Each of them is within the limit; both are not."""
    store.gather(LAST)
    asked.clear()
    proxy.delay = 0.2
    found = store.gather(LAST)
    proxy.delay = 0.0
    assert found.failure is not None
    assert len(asked) <= 2


def test_any_other_read_ends_too(store: PostgresStore, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that follows the settings would wait for ever."""
    monkeypatch.setattr(readers, "READ_SECONDS", 0.3)
    store.threads("local")
    proxy.fault = "deaf"
    with pytest.raises(StoreError, match="no reply within"):
        store.threads("local")


def test_who_finds_no_free_connection_does_not_wait_for_long(store: PostgresStore, asked: list[str]) -> None:
    pool = store._row_readers
    for _ in range(readers.MOST):
        pool._free.acquire()
    found = store.gather(LAST)
    assert asked == []
    assert "its connections are all in use" in str(found.failure)
    for _ in range(readers.MOST):
        pool._free.release()
    until(lambda: store.gather(LAST).failure is None)


def test_the_store_says_that_it_is_degraded(store: PostgresStore, proxy: FaultProxy) -> None:
    """Before the writer itself gives its connection up."""
    assert store.health().state == "ok"
    proxy.fault = "deaf"
    assert store.record(turn(recorded("late", thread="other"), at=NOON + 100)).result(60)
    assert (store.health().state, store.health().local) == ("degraded", 1)
    assert store.health().why.endswith("does not answer in time")
    proxy.fault = "none"
    proxy.cut()
    until(lambda: store.health().state == "ok")
    assert store.health().local == 0


def test_a_command_without_a_reply_is_sent_again(
    store: PostgresStore, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pooler that is stopped, and started again, may have lost what it took."""
    monkeypatch.setattr(writer, "_COMMAND_SECONDS", 0.3)
    connect = store._row_writer._connect

    def reconnect() -> PostgresDatabase:
        proxy.fault = "none"
        return connect()

    store._row_writer._connect = reconnect
    proxy.fault = "deaf"
    store.set("active", "glm", at=NOON).result(60)
    assert store.settings() == {"active": "glm"}
