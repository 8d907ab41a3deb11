"""What is PostgreSQL's own: servers that die, connections that break, schemas of others, several gateways at once."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import psycopg
import pytest
from psycopg.waiting import Ready, Wait

from clew.errors import SchemaTooNew, StoreError
from clew.model.turn import TokenUsage
from clew.store import location_of
from clew.store.postgres import queries, row_pipeline
from clew.store.postgres.database import PostgresDatabase, describe_url
from clew.store.postgres.schema import NEWEST
from clew.store.postgres.search import text_query, text_vector
from clew.store.postgres.store import PostgresStore
from clew.store.values import Lookup
from clew.store.words import search_terms
from tests.counts import examples
from tests.numbers import note
from tests.postgres import PostgresServer, private_server, shared_server
from tests.store.turns import NOON, conversation, recorded, turn
from tests.waiting import until


@pytest.fixture
def url() -> str:
    return shared_server().create()


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    with private_server() as server:
        yield server


def ids_in(url: str) -> set[str]:
    with psycopg.connect(url) as connection:
        return {id for (id,) in connection.execute("SELECT id FROM clew.exchanges")}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("ends", ["stopped at once", "killed"])
def test_a_server_that_is_killed_has_all_that_was_acknowledged(server: PostgresServer, ends: str) -> None:
    url = server.create()
    acknowledged: set[str] = set()
    stop = threading.Event()

    def write(store: PostgresStore) -> None:
        for number in count():  # as long as the server is away, each fails at once
            if stop.is_set():
                return
            record = store.record(turn(recorded(f"r{number}"), exchange=f"x{number}"))
            if record.exception(60) is None:
                acknowledged.add(f"x{number}")

    with PostgresStore(url) as store, ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write, store)
        for death in range(examples(1, soak=20)):
            until(lambda death=death: len(acknowledged) > 50 * (death + 1))
            if ends == "killed":
                server.kill()
            else:
                server.stop("immediate")
            until(lambda: store.health().state == "degraded")
            server.start()
            until(lambda: store.health().state == "ok")
        stop.set()
        writing.result(120)
        assert store.verify() == ()
    assert acknowledged <= ids_in(url)
    note(f"turns acknowledged by a server that was {ends}", len(acknowledged))


def test_a_store_goes_on_by_itself_after_its_connections_were_ended(url: str) -> None:
    with PostgresStore(url) as store:
        store.record(turn(recorded("a"))).result(60)
        assert store.thread("local", "t")
        with psycopg.connect(url, autocommit=True) as other:
            find = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'clew'"
            assert len(other.execute(find).fetchall()) >= 2
        assert store.record(turn(recorded("b"))).result(60)
        found = store.thread("local", "t")
        assert found is not None
        assert found.turns == 2


def test_a_commit_whose_reply_was_lost_makes_no_second_turn(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection ends right after the commit: what was under way is sent again."""
    with PostgresStore(url) as store:
        original = store._writer._transact
        lost: list[bool] = []

        def lose_reply(database: PostgresDatabase, commands: object) -> object:
            results = original(database, commands)
            if not lost:
                lost.append(True)
                database.connection.close()
                raise psycopg.OperationalError("the connection is lost")
            return results

        monkeypatch.setattr(store._writer, "_transact", lose_reply)
        assert store.record(turn(recorded("a"))).result(60) is False, "it was there already"
        assert len(store.exchanges("local")) == 1
        assert store.usage_totals("local")[0].calls == 1


def test_one_turn_that_cannot_be_kept_does_not_affect_the_others(url: str) -> None:
    with PostgresStore(url) as store:
        good = [store.record(turn(recorded(f"r{number}"))) for number in range(20)]
        bad = store._writer.submit(lambda database: database.value("SELECT 1 / 0"))
        good += [store.record(turn(recorded(f"s{number}"))) for number in range(20)]
        assert [each.result(60) for each in good] == [True] * 40
        with pytest.raises(StoreError, match="division by zero"):
            bad.result(60)


def test_several_gateways_write_and_find_what_the_others_wrote(url: str) -> None:
    answers = conversation(12)
    stores = [PostgresStore(url) for _ in range(3)]
    for number, answer in enumerate(answers):
        assert stores[number % 3].record(turn(answer)).result(60)
    found = stores[0].gather(Lookup(principal="local", keys=answers[-1].keys, links=50))
    assert {each.id for each in found.recordings} == {each.id for each in answers}
    assert found.is_whole
    for store in stores:
        store.close()


def test_gateways_that_start_together_make_the_schema_once(url: str) -> None:
    with ThreadPoolExecutor(6) as pool:
        stores = list(pool.map(lambda _: PostgresStore(url), range(6)))
    for number, store in enumerate(stores):
        store.record(turn(recorded(f"r{number}"))).result(60)
        store.close()
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT schema FROM clew.state").fetchall() == [(NEWEST,)]
    assert len(ids_in(url)) == 6


def test_tables_of_another_program_stay_and_a_role_without_rights_elsewhere_is_enough(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute("CREATE TABLE public.canary (word text)")
        admin.execute("INSERT INTO public.canary VALUES ('alive')")
        name = admin.info.dbname
        admin.execute(f"CREATE ROLE low_{name} LOGIN")
        admin.execute(f"GRANT CREATE, CONNECT ON DATABASE {name} TO low_{name}")
    with PostgresStore(url.replace("postgres@", f"low_{name}@")) as store:
        assert store.record(turn(recorded("a"))).result(60)
    with psycopg.connect(url) as admin:
        assert admin.execute("SELECT word FROM public.canary").fetchall() == [("alive",)]


def test_a_schema_of_a_newer_clew_and_one_of_another_program_are_refused(url: str) -> None:
    PostgresStore(url).close()
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute("UPDATE clew.state SET schema = 99, reads_from = 99")
    with pytest.raises(SchemaTooNew, match="schema 99, written by a newer clew"):
        PostgresStore(url)
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute("UPDATE clew.state SET reads_from = 1")
    PostgresStore(url).close()  # a newer clew that lets this one write
    foreign = shared_server().create()
    with psycopg.connect(foreign, autocommit=True) as admin:
        admin.execute("CREATE SCHEMA clew")
        admin.execute("CREATE TABLE clew.things (id int)")
    with pytest.raises(StoreError, match="of another program"):
        PostgresStore(foreign)


def test_a_password_is_never_shown(url: str) -> None:
    secret = "postgresql://me:hunter2@db.example:6000/team"
    assert describe_url(secret) == "postgresql://db.example:6000/team"
    location = location_of("postgresql://me:hunter2@127.0.0.1:1/team", Path())
    assert location is not None
    [finding] = location.examine(NOON)
    assert finding.state == "broken"
    assert "hunter2" not in finding.says
    assert "cannot be reached" in finding.says


@pytest.mark.parametrize("password", ["a hunter2", "hunter2%zz", "x/hunter2", "x@hunter2", "x/y?z=hunter2"])
def test_a_password_that_is_not_written_as_in_a_url_is_not_shown_and_what_to_do_is(password: str) -> None:
    """The driver quotes what it cannot read, or takes a part of the password for the host."""
    location = location_of(f"postgresql://me:{password}@db.example/team", Path())
    assert location is not None
    assert "hunter2" not in location.describe()
    [finding] = location.examine(NOON)
    assert finding.state == "broken"
    assert "hunter2" not in finding.says
    assert "%40 for @" in finding.says
    with pytest.raises(StoreError, match="as in a URL") as failed:
        PostgresStore(f"postgresql://me:{password}@db.example/team")
    assert "hunter2" not in str(failed.value)


def test_texts_that_postgresql_does_not_take_are_kept_all_the_same(url: str) -> None:
    with PostgresStore(url) as store:
        odd = turn(recorded("a", words="NUL \0 and half a pair"), asked_model="odd\0model", stop_reason="\ud800")
        assert store.record(odd).result(60)
        found = store.recordings("local").by_id("a")
        assert found is not None
        assert found.blocks == (odd.recording and odd.recording.blocks)
        assert store.exchanges("local")[0].asked_model == "odd\ufffdmodel"
        assert [hit.exchange for hit in store.search("local", "half")] == ["x-a"]


def test_the_words_of_a_turn_need_no_escaping() -> None:
    assert text_vector("It's a 'quote' \\ here", "Oui : très & bien") == (
        "'it':1 's':2 'a':3 'quote':4 'here':5 'oui':16 'tres':17 'bien':18"
    )
    assert text_query(search_terms('it\'s "in quotes" & | ! :* été')) == "('it' <-> 's':*) & ('in' <-> 'quotes') & ('ete':*)"
    assert text_query(search_terms("& | !")) == ""


def test_a_thread_that_is_deleted_is_in_no_page_after_the_vacuum(url: str) -> None:
    with PostgresStore(url) as store:
        store.record(turn(recorded("a", words="plumtree"), exchange="x")).result(60)
        assert store.search("local", "plumtree")
        assert store.forget("local", "t", at=NOON + 1).result(60)
    assert files_with(url, b"plumtree") == []


@pytest.mark.parametrize("ahead", [(5.0, -5.0), (-5.0, 5.0)])
def test_a_deletion_holds_for_an_answer_of_a_gateway_whose_clock_differs_by_ten_seconds(
    url: str, monkeypatch: pytest.MonkeyPatch, ahead: tuple[float, float]
) -> None:
    """The answer began a second before the deletion, on another machine; and one that began later is kept."""

    def opened(seconds: float) -> PostgresStore:
        clock = SimpleNamespace(time=lambda: time.time() + seconds)
        monkeypatch.setattr("clew.store.postgres.database.time", clock)
        return PostgresStore(url)

    now = time.time()
    with opened(ahead[0]) as deletes, opened(ahead[1]) as answers:

        def told(moment: float) -> float:
            """The time that the second gateway notes for a moment: by its own clock, corrected."""
            return moment + ahead[1] + answers.clock_offset

        first = turn(recorded("a", words="plumtree"), exchange="x1", at=told(now - 60))
        assert answers.record(first).result(60)
        assert deletes.forget("local", "t", at=now + ahead[0]).result(60)
        late = turn(recorded("b", words="plumtree too"), exchange="x2", at=told(now + 20), started=told(now - 1))
        assert answers.record(late).result(60) is False
        after = turn(recorded("c", words="pear"), exchange="x3", at=told(now + 20), started=told(now + 5))
        assert answers.record(after).result(60)
        assert [each.exchange for each in deletes.passages("local", "t")] == ["x3"]
        assert [deletes.search("local", word) == [] for word in ("plumtree", "pear")] == [True, False]
    assert files_with(url, b"plumtree") == []


@pytest.mark.parametrize("statement", [queries._THREADS, queries._ANSWERS], ids=["threads", "answers"])
def test_what_belongs_to_a_thread_is_found_by_an_index(url: str, statement: str) -> None:
    """An index that cannot be used, because texts are compared by other rules than it has, shows as a scan all the same."""
    values = {queries._THREADS: ("local", "", "z", 1e12, 100), queries._ANSWERS: ("local", "t")}[statement]
    with PostgresStore(url) as store, psycopg.connect(url, cursor_factory=psycopg.RawCursor) as connection:
        store.record(turn(recorded("a"))).result(60)
        connection.execute("SET enable_seqscan = off")
        plan = [line for (line,) in connection.execute(f"EXPLAIN {statement}".encode(), values)]
    assert [line for line in plan if "Seq Scan on exchanges" in line or "Seq Scan on recordings" in line] == [], plan


def test_turns_of_all_kinds_are_one_prepared_statement(url: str) -> None:
    """However large their numbers are, and whatever they lack: else nearly each would be parsed and planned anew."""
    chance, before = random.Random(1), ()
    with PostgresStore(url) as store:
        for number in range(60):
            counts = {
                name: chance.choice([3, 40_000, 1 << 33]) for name in ("input", "output", "cache_read", "cache_written")
            }
            usage = TokenUsage(
                **counts, thinking=chance.choice([None, 10, 40_000]), micro_usd=chance.choice([None, 1 << 40])
            )
            answer = recorded(f"r{number}", before=before) if number % 5 else None
            before = (answer,) if answer and chance.random() < 0.5 else ()
            given = {"usage": usage if answer else None, "first_byte": chance.choice([None, 0.5]), "exchange": f"x{number}"}
            assert store.record(turn(answer, **given)).result(60)
        find = "SELECT count(*) FROM pg_prepared_statements WHERE left(statement, 20) LIKE '%WITH exchange AS%'"
        assert store._writer.submit(lambda database: database.value(find)).result(60) == 1


def test_a_server_that_forgot_the_statement_of_a_turn_gets_it_anew(url: str) -> None:
    """Alone, and in a transaction with something else."""
    with PostgresStore(url) as store:
        for name in ("a", "b"):
            assert store.record(turn(recorded(name))).result(60)
            store._writer.submit(lambda database: database.run_script("DEALLOCATE ALL")).result(60)
        held = threading.Event()
        store._writer.submit(lambda _: held.wait(60))
        together = [store.record(turn(recorded("c"))), store._writer.submit(lambda database: database.value("SELECT 'two'"))]
        held.set()
        assert [each.result(60) for each in together] == [True, "two"]
    assert ids_in(url) == {"x-a", "x-b", "x-c"}


def test_results_that_do_not_come_are_waited_for() -> None:
    """A connection that the server ended may say once more that it has none, and not yet that it is gone."""
    ended = Mock(
        flush=Mock(return_value=0),
        is_busy=Mock(return_value=False),
        get_result=Mock(side_effect=[None, None, AssertionError()]),
    )
    taking = row_pipeline._exchange(ended)
    assert [next(taking), taking.send(Ready.R)] == [Wait.R, Wait.R]


def files_with(url: str, word: bytes) -> list[Path]:
    """The files of clew's tables that have these bytes in a page."""
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute("CHECKPOINT")
        name, *_ = admin.execute("SELECT current_setting('data_directory')").fetchone()
        tables = "SELECT oid FROM pg_class WHERE relnamespace = to_regnamespace('clew') AND relkind = 'r'"
        toasts = f"SELECT reltoastrelid FROM pg_class WHERE reltoastrelid <> 0 AND oid IN ({tables})"
        rows = admin.execute(f"SELECT pg_relation_filepath(oid) FROM ({tables} UNION {toasts}) AS files (oid)")
        files = [Path(name) / path for (path,) in rows.fetchall() if path]
    return [file for file in files if word in file.read_bytes()]
