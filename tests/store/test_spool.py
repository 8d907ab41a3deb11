"""Turns that the database does not take in time: on this machine first, and in the database once, in order, when it is back."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from clew.errors import RecordCorrupt, StoreError
from clew.model.turn import TurnRecord
from clew.store.postgres.spooling import SpoolWriter
from clew.store.postgres.store import PostgresStore
from clew.store.spool import Spool, SpooledTurn
from clew.store.values import Lookup
from tests.postgres import PostgresServer, private_server
from tests.store.test_postgres import ids_in
from tests.store.turns import conversation, recorded, turn
from tests.waiting import until

pytestmark = pytest.mark.slow


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    with private_server() as server:
        yield server


def test_a_turn_is_as_it_was(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    odd = turn(recorded("a", words="NUL \0"), stop_reason="half \ud83d")
    spool.keep(turn(recorded("b"), at=2.0), readable=False)
    spool.keep(turn(recorded("c"), at=1.0), readable=True)
    paths = [spool.read(path) for path in spool.waiting()]
    assert [(each.turn.recording, each.readable) for each in paths] == [(recorded("c"), True), (recorded("b"), False)]
    read = spool.read(spool.keep(odd, readable=True)).turn
    assert (read.recording, read.asked, read.exchange.stop_reason) == (odd.recording, odd.asked, "half ?")
    assert oct((tmp_path / "spool").stat().st_mode)[-3:] == "700"


def test_a_file_that_is_none_is_told(tmp_path: Path) -> None:
    (tmp_path / "1.turn").write_bytes(b"\xc1")
    with pytest.raises(RecordCorrupt, match="is no turn that can be read"):
        Spool(tmp_path).read(tmp_path / "1.turn")


def test_a_reply_that_comes_while_the_spool_writes_leaves_the_turn_told_once_and_the_spool_at_work(tmp_path: Path) -> None:
    """A thread that ended by it would spool no turn any more, and everyone would wait for it."""
    replies: dict[str, Future[bool]] = {"a": Future(), "b": Future()}

    class SlowSpool(Spool):
        def keep(self, turn: TurnRecord, *, readable: bool) -> Path:
            path = super().keep(turn, readable=readable)
            if turn.exchange.id == "x-a":
                replies["a"].set_result(True)
            return path

    def ship(_: SpooledTurn) -> Future[bool]:
        sent: Future[bool] = Future()
        sent.set_exception(StoreError("away"))
        return sent

    writer = SpoolWriter(SlowSpool(tmp_path), ship, lambda _: None)
    kept = {name: writer.follow(reply, turn(recorded(name)), readable=True) for name, reply in replies.items()}
    assert {name: (each.result(60), vars(each).get("waits", False)) for name, each in kept.items()} == {
        "a": (True, False),
        "b": (True, True),
    }
    writer.close()


def test_turns_go_on_while_the_database_is_away_and_reach_it_once_and_in_order(
    server: PostgresServer, tmp_path: Path
) -> None:
    url, answers = server.create(), conversation(8)
    with PostgresStore(url, spool=tmp_path / "spool") as store:
        for each in answers[:3]:
            assert store.record(turn(each)).result(60)
        server.stop("immediate")
        for each in answers[3:]:
            assert store.record(turn(each)).result(60), "kept on this machine"
        assert store.health().local == 5
        found = store.recall(Lookup(principal="local", keys=answers[-1].keys, links=50))
        assert found is not None
        assert {each.id for each in found.recordings} == {each.id for each in answers}
        server.start()
        until(lambda: store.health().local == 0)
        assert [each.exchange for each in store.passages("local", "t")] == [f"x-{each.id}" for each in answers]
        assert store.verify() == ()
    assert list((tmp_path / "spool").iterdir()) == []


def test_what_a_process_left_behind_is_sent_by_the_next(server: PostgresServer, tmp_path: Path) -> None:
    url = server.create()
    PostgresStore(url).close()
    server.stop()
    with PostgresStore(url, spool=tmp_path / "spool") as store:  # a gateway starts without its database
        assert store.record(turn(recorded("a"))).result(60)
    server.start()
    assert ids_in(url) == set()
    with PostgresStore(url, spool=tmp_path / "spool") as store:
        until(lambda: ids_in(url) == {"x-a"})
        until(lambda: store.health().local == 0)


def test_a_commit_without_a_reply_counts_as_local_and_is_not_kept_twice(server: PostgresServer, tmp_path: Path) -> None:
    url = server.create()
    with PostgresStore(url, spool=tmp_path / "spool") as store, ThreadPoolExecutor(1) as pool:
        store.record(turn(recorded("a"))).result(60)
        with psycopg.connect(url) as other:
            other.execute("LOCK TABLE clew.exchanges")  # until the block ends
            kept = pool.submit(store.record(turn(recorded("b"))).result, 60)
            assert kept.result(60) is True
            assert [path.name.endswith("x-b.turn") for path in (tmp_path / "spool").iterdir()] == [True]
        until(lambda: store.health().local == 0)
        assert len(store.exchanges("local")) == 2
        assert store.usage_totals("local")[0].calls == 2
