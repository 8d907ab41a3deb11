"""What a gateway's store does when the way to its database, or the database, fails: nothing that was acknowledged is lost,
nothing is kept twice, and nothing waits for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import psycopg
import pytest

from clew.errors import StoreError
from clew.limits.limit import DAY, Amounts
from clew.model.turn import Charge
from clew.store.commits import KeptTurn
from clew.store.postgres import spooling
from clew.store.postgres.store import PostgresStore
from clew.store.postgres.writer import REPLY_SECONDS
from clew.store.values import Lookup
from tests.counts import examples
from tests.fault_proxy import FaultProxy, fault_proxy
from tests.postgres import PostgresServer, prepared_url, private_server, shared_server
from tests.store.turns import NOON, conversation, recorded, turn
from tests.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


CHARGE = Charge("key:anna", DAY, int(NOON // DAY * DAY), 3, 5, 1)


@pytest.fixture
def url() -> str:
    return prepared_url()


@pytest.fixture
def proxy() -> Iterator[FaultProxy]:
    with fault_proxy(shared_server()) as proxy:
        yield proxy


def ids_in(url: str) -> list[str]:
    """In the order in which they were written."""
    with psycopg.connect(url) as connection:
        return [id for (id,) in connection.execute("SELECT id FROM clew.exchanges ORDER BY seq")]


def test_a_turn_whose_commit_has_no_reply_is_kept_once(url: str, proxy: FaultProxy, tmp_path: Path) -> None:
    """The server has committed it, and the connection is gone: nobody can know, so it is sent again."""
    count = examples(5, soak=100)
    with PostgresStore(proxy.url(url), spool=tmp_path / "spool") as store:
        for number in range(count):
            proxy.lose_reply_to = b"x-r%d\x00" % number if number % 2 else b"x-r%d" % number
            kept = turn(recorded(f"r{number}", thread=f"t{number}"))  # none waits for another's
            store.record(msgspec.structs.replace(kept, charges=(CHARGE,))).result(60)
        until(lambda: store.health().local == 0)
        assert proxy.lost >= count // 2
        assert store.verify() == ()
        assert store.usage_totals("local")[0].calls == count
        assert [total.own for total in store.limits.totals(NOON).values()] == [Amounts(3 * count, 5 * count, count)]
    assert sorted(ids_in(url)) == sorted(f"x-r{number}" for number in range(count))


def test_a_turn_is_one_round_trip_and_a_known_thread_on_another_gateway_two(url: str, proxy: FaultProxy) -> None:
    answers = conversation(20)
    with PostgresStore(proxy.url(url)) as store:
        assert store.record(turn(answers[0])).result(60)  # prepares the statement
        before = proxy.round_trips
        for each in answers[1:]:
            assert store.record(turn(each)).result(60)
        assert proxy.round_trips - before == 19
    with PostgresStore(proxy.url(url)) as other:
        other.gather(Lookup(principal="local", keys=(b"k" * 32,), links=50))  # connects
        other.gather(
            Lookup(principal="local", keys=recorded("r0").keys, session="none", links=50)
        )  # prepares the statements
        before = proxy.round_trips
        found = other.gather(Lookup(principal="local", keys=answers[-1].keys, session="s", links=50))
        assert {each.id for each in found.recordings} == {each.id for each in answers}
        assert proxy.round_trips - before == 2


@pytest.mark.parametrize("fault", ["silent", "deaf", "refusing"])
def test_turns_of_a_partition_reach_the_database_once_and_in_order(
    url: str, proxy: FaultProxy, tmp_path: Path, fault: str
) -> None:
    seconds, answers = examples(3, soak=30), conversation(12)
    with PostgresStore(proxy.url(url, "tcp_user_timeout=2000"), spool=tmp_path / "spool") as store:
        for each in answers[:4]:
            assert store.record(turn(each)).result(60)
        proxy.fault = fault  # type: ignore[assignment]
        if fault == "refusing":
            proxy.cut()
        began = time.monotonic()
        for number, each in enumerate(answers[4:8], start=1):
            until(lambda number=number: time.monotonic() - began > number * seconds / 4)
            write = store.record(turn(each, at=NOON + number))
            assert write.result(60), "kept on this machine"
            assert isinstance(write, KeptTurn)
            assert write.waits
        until(lambda: time.monotonic() - began > seconds)
        proxy.fault = "none"
        proxy.cut()
        for number, each in enumerate(answers[8:], start=5):  # at once, while the others are still on their way
            assert store.record(turn(each, at=NOON + number)).result(60)
        until(lambda: store.health().local == 0)
        assert [each.exchange for each in store.passages("local", "t")] == [f"x-{each.id}" for each in answers]
        assert store.verify() == ()
        assert store.usage_totals("local")[0].calls == 12
    assert ids_in(url) == [f"x-{each.id}" for each in answers]


def test_nobody_waits_for_turns_that_are_sent_from_the_spool(url: str, proxy: FaultProxy, tmp_path: Path) -> None:
    """What is sent may have no reply for long. A turn of another conversation is on this machine long before."""
    with PostgresStore(proxy.url(url, "tcp_user_timeout=2000"), spool=tmp_path / "spool") as store:
        assert store.record(turn(recorded("a", thread="a"), at=NOON)).result(60)
        proxy.fault = "deaf"
        assert store.record(turn(recorded("b", thread="b"), at=NOON + 1)).result(60)
        until(lambda: store._spool is not None and store._spool.sends)
        write = store.record(turn(recorded("c", thread="c"), at=NOON + 2))
        assert write.result(REPLY_SECONDS / 2), "its connection has not even been given up"
        assert store._spool is not None
        assert store._spool.sends
        proxy.fault = "none"
        until(lambda: store.health().local == 0)
    assert sorted(ids_in(url)) == ["x-a", "x-b", "x-c"]


@pytest.mark.parametrize("delay", [0.3, pytest.param(2.0, marks=pytest.mark.soak)])
def test_a_slow_commit_is_on_this_machine_first_and_in_the_database_once(
    url: str, proxy: FaultProxy, tmp_path: Path, delay: float
) -> None:
    with PostgresStore(proxy.url(url), spool=tmp_path / "spool") as store:
        store.record(turn(recorded("first"))).result(60)
        proxy.delay = delay
        write = store.record(turn(recorded("second")))
        assert write.result(60)
        assert isinstance(write, KeptTurn)
        assert write.waits
        proxy.delay = 0.0
        until(lambda: store.health().local == 0)
        assert store.usage_totals("local")[0].calls == 2
    assert ids_in(url) == ["x-first", "x-second"]


def test_a_commit_within_the_limit_is_waited_for(
    url: str, proxy: FaultProxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing goes to the spool. (The limit is moved, since a busy machine may take longer than 200 ms for anything.)"""
    monkeypatch.setattr(spooling, "LIMIT", 600.0)
    with PostgresStore(proxy.url(url), spool=tmp_path / "spool") as store:
        proxy.delay = 0.1
        write = store.record(turn(recorded("a")))
        assert write.result(60)
        assert isinstance(write, KeptTurn)
        assert not write.waits
        assert not (tmp_path / "spool").exists()


def test_an_exhausted_server_costs_no_turn_and_it_recovers_by_itself(tmp_path: Path) -> None:
    with private_server(max_connections="6", superuser_reserved_connections="0") as server:
        url = server.create()
        PostgresStore(url).close()
        greedy = [psycopg.connect(url) for _ in range(6)]
        with PostgresStore(url, spool=tmp_path / "spool") as store:
            assert store.record(turn(recorded("a"))).result(60)
            assert store.health().state == "degraded"
            assert "too many clients" in store.health().why or "no connection left" in store.health().why
            for each in greedy:
                each.close()
            until(lambda: store.health().local == 0)
            assert store.record(turn(recorded("b"))).result(60)
            until(lambda: store.health().state == "ok")
        assert sorted(ids_in(url)) == ["x-a", "x-b"]


def test_a_store_survives_that_its_connections_are_ended_again_and_again(url: str, tmp_path: Path) -> None:
    count, stop = examples(40, soak=2000), threading.Event()

    def end_connections() -> None:
        with psycopg.connect(url, autocommit=True) as admin:
            while not stop.wait(0.1):
                admin.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'clew' "
                    "AND datname = current_database()"
                )

    storm = threading.Thread(target=end_connections)
    with PostgresStore(url, spool=tmp_path / "spool") as store:
        storm.start()
        try:
            for number in range(count):
                assert store.record(turn(recorded(f"r{number}"))).result(60)
        finally:
            stop.set()
            storm.join()
        until(lambda: store.health().local == 0)
        assert store.verify() == ()
    assert sorted(ids_in(url)) == sorted(f"x-r{number}" for number in range(count))


@pytest.fixture
def standby() -> Iterator[tuple[PostgresServer, PostgresServer]]:
    with private_server(max_wal_senders="4", wal_level="replica") as primary, primary.standby() as standby:
        yield primary, standby


def test_a_standby_that_takes_over_has_all_that_was_acknowledged(
    standby: tuple[PostgresServer, PostgresServer], tmp_path: Path
) -> None:
    """With a synchronous standby; the store finds the new primary by its list of hosts."""
    primary, second = standby
    name = primary.create().split("/")[3].partition("?")[0]
    primary.configure(synchronous_standby_names="*")
    url = f"postgresql://postgres@/{name}?host={primary.folder},{second.folder}"
    acknowledged = list[str]()
    with PostgresStore(url, spool=tmp_path / "spool") as store:

        def write(begin: int, count: int) -> None:
            for number in range(begin, begin + count):
                done = store.record(turn(recorded(f"r{number}"), exchange=f"x{number}"))
                assert done.result(60)
                if isinstance(done, KeptTurn) and not done.waits:
                    acknowledged.append(f"x{number}")

        write(0, 20)
        primary.stop("immediate")
        second.promote()
        write(20, 20)
        until(lambda: store.health().local == 0)
        assert store.verify() == ()
    kept = ids_in(second.url(name))
    assert acknowledged
    assert set(acknowledged) <= set(kept)
    assert sorted(kept) == sorted(f"x{number}" for number in range(40))


def test_the_tables_of_other_programs_stay_and_a_failed_step_leaves_nothing(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = shared_server().create()
    with psycopg.connect(fresh, autocommit=True) as other:
        other.execute("CREATE TABLE public.canary (sings text)")
        other.execute("INSERT INTO public.canary VALUES ('yes')")
        other.execute("CREATE TABLE public.recordings (id text)")
        monkeypatch.setattr("clew.store.postgres.schema.STEPS", ("CREATE TABLE clew.half (a text)", "SELECT 1 / 0"))
        monkeypatch.setattr("clew.store.postgres.schema.NEWEST", 2)
        with pytest.raises(StoreError, match="division by zero"):
            PostgresStore(fresh)
        assert other.execute("SELECT 1 FROM pg_namespace WHERE nspname = 'clew'").fetchone() is None
        monkeypatch.undo()
        with PostgresStore(fresh) as store:
            store.record(turn(recorded("a"))).result(60)
            store.forget("local", "t", at=time.time()).result(60)
        assert other.execute("SELECT sings FROM public.canary").fetchall() == [("yes",)]
        assert other.execute("SELECT count(*) FROM public.recordings").fetchone() == (0,)
