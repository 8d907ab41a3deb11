"""The writer: what waits is committed together, a failure is its own, the queue is bounded, no caller is held up."""

import asyncio
import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import apsw
import pytest

from clew.errors import StoreError
from clew.store.commits import COMMIT_LIMIT, wait_for_commit
from clew.store.sqlite.database import Database
from clew.store.sqlite.store import SqliteStore
from clew.store.sqlite.writer import WriterLimits
from tests.manifest import proves
from tests.store.tables import rows
from tests.store.turns import conversation, recorded, turn
from tests.waiting import turns as go_round
from tests.waiting import until


class Lock:
    """Another process's transaction, for as long as it is held."""

    def __init__(self, path: Path) -> None:
        self._connection = apsw.Connection(str(path))
        self._connection.set_busy_timeout(60_000)  # a gateway may be writing just then

    def __enter__(self) -> "Lock":
        self._connection.execute("BEGIN IMMEDIATE")
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.execute("ROLLBACK")
        self._connection.close()


@pytest.fixture
def small(path: Path) -> Iterator[SqliteStore]:
    """A store whose queue takes three writes."""
    with SqliteStore(path, limits=WriterLimits(waiting=3)) as store:
        yield store


def test_an_acknowledged_turn_is_there_for_every_reader(store: SqliteStore, path: Path) -> None:
    """Law 8."""
    recording = recorded("r")
    store.record(turn(recording)).result(120)
    with SqliteStore(path) as other:
        assert other.recordings("local").by_id("r") == recording


def test_an_event_loop_waits_for_the_commit(store: SqliteStore) -> None:
    async def record() -> object:
        return await wait_for_commit(store.record(turn(recorded("r"))), limit=10)

    assert asyncio.run(record()) is None
    assert store.recordings("local").by_id("r") is not None


def test_a_failure_that_is_not_the_stores_is_a_reason_like_any_other() -> None:
    """Whatever it is, the answer waits for nothing more. What it was stands in the reason: it must not look like a full disk."""
    write: Future[bool] = Future()
    write.set_exception(AssertionError("ours"))

    async def wait() -> object:
        return await wait_for_commit(write)

    problem = asyncio.run(wait())
    assert isinstance(problem, StoreError)
    assert "AssertionError: ours" in str(problem)


def test_a_write_that_ends_after_its_loop_disturbs_nobody(store: SqliteStore, path: Path) -> None:
    async def record() -> tuple[object, Future[bool]]:
        write = store.record(turn(recorded("r")))
        return await wait_for_commit(write, limit=0.01), write

    with Lock(path):
        error, write = asyncio.run(record())
    assert (isinstance(error, StoreError), write.result(120)) == (True, True)


@proves("fault:S4")
def test_a_store_that_is_locked_holds_an_answer_back_for_a_quarter_of_a_second_and_commits_later(
    store: SqliteStore, path: Path
) -> None:
    """Law 8: the turn ends and is reported as unrecorded. The event loop goes on meanwhile, and the write is not lost."""

    async def record() -> tuple[object, int, Future[bool]]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0)
                ticks += 1

        ticking = asyncio.create_task(tick())
        write = store.record(turn(recorded("r")))
        error = await wait_for_commit(write)
        ticking.cancel()
        return error, ticks, write

    with Lock(path):
        started = time.monotonic()
        error, ticks, write = asyncio.run(record())
        taken = time.monotonic() - started
    assert isinstance(error, StoreError)
    assert str(error) == "the store did not commit within 250 ms"
    assert taken >= COMMIT_LIMIT
    assert ticks > 1
    assert write.result(120) is True


def test_a_client_that_leaves_does_not_cancel_the_write(store: SqliteStore, path: Path) -> None:
    async def leave() -> Future[bool]:
        write = store.record(turn(recorded("r")))
        task = asyncio.create_task(wait_for_commit(write))
        await go_round()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return write

    with Lock(path):
        write = asyncio.run(leave())
    assert write.result(120) is True


def test_a_failure_after_the_limit_is_nobodys_surprise(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def record(store: SqliteStore) -> object:
        write = store.record(turn(recorded("r")))
        error = await wait_for_commit(write, limit=0.01)
        await asyncio.to_thread(write.exception, 5)
        return error

    with SqliteStore(path, busy=0.1) as store, Lock(path):
        assert isinstance(asyncio.run(record(store)), StoreError)
    assert caplog.records == []


def test_a_database_that_stays_locked_is_an_error_and_then_works_again(path: Path) -> None:
    """S4."""
    with SqliteStore(path, busy=0.05) as store:
        with Lock(path):
            failed = store.record(turn(recorded("r")))
            with pytest.raises(StoreError, match="is locked by another process") as caught:
                failed.result(120)
            assert caught.value.file == str(path)
            assert store.health().state == "degraded"
        assert store.record(turn(recorded("r"))).result(120) is True
        assert store.health().state == "ok"


@proves("fault:S4")
def test_a_full_queue_refuses_at_once(small: SqliteStore, path: Path) -> None:
    """S4: bounded, in number and in bytes."""
    answers = conversation(6)
    with Lock(path):
        writes = [small.record(turn(answers[0]))]
        until(lambda: not small.health().waiting)  # the first is being written, and waits for the lock
        writes += [small.record(turn(each)) for each in answers[1:]]
        assert [write.done() for write in writes] == [False] * 4 + [True] * 2
        with pytest.raises(StoreError, match=r"is too slow: 3 writes of [0-9]+ bytes wait already"):
            writes[-1].result()
    assert [write.result(120) for write in writes[:4]] == [True] * 4


def test_what_can_wait_is_done_when_nothing_else_is_to_be_done_and_takes_nobodys_room(
    small: SqliteStore, path: Path
) -> None:
    """Bodies: the commit of a turn does not wait for them, and neither do they fill its queue."""
    answers, order = conversation(4), list[str]()
    with Lock(path):
        first = small.record(turn(answers[0]))
        until(lambda: not small.health().waiting)
        later = [small._writer.submit(lambda _: order.append("later"), later=True) for _ in range(3)]
        turns = [small.record(turn(each)) for each in answers[1:]]
        for write in turns:
            write.add_done_callback(lambda _: order.append("turn"))
        later.append(small._writer.submit(lambda _: order.append("later"), later=True))
        assert [write.done() for write in (*turns, *later)] == [False] * 7
    assert [write.result(120) for write in (first, *turns)] == [True] * 4
    assert [write.result(120) for write in later] == [None] * 4
    assert order == ["turn"] * 3 + ["later"] * 4


def test_a_queue_of_too_many_bytes_refuses_at_once(path: Path) -> None:
    with SqliteStore(path, limits=WriterLimits(waiting_bytes=1000)) as store:
        with pytest.raises(StoreError, match="is too slow"):
            store.record(turn(recorded("r", words="long" * 300))).result(120)
        with pytest.raises(StoreError, match="is too slow"):
            store.record(turn(recorded("r"), changes=10 * turn().exchange.changes)).result(120)
        assert store.record(turn(recorded("r"))).result(120) is True


def test_one_bad_command_takes_nobody_with_it(store: SqliteStore, path: Path) -> None:
    """All three wait together, and are one transaction; the one in the middle has a recording id that is taken."""
    answers = conversation(3)
    with Lock(path):
        writes = [
            store.record(turn(answers[0])),
            store.record(turn(answers[0], exchange="again")),
            store.record(turn(answers[1])),
        ]
    assert [writes[0].result(120), writes[2].result(120)] == [True, True]
    with pytest.raises(StoreError, match="UNIQUE"):
        writes[1].result(120)
    assert [each.exchange for each in store.passages("local", "t")] == ["x-r0", "x-r1"]
    assert store.health().state == "ok"


def test_a_bad_command_by_itself_takes_back_all_that_it_wrote(store: SqliteStore) -> None:
    """Its exchange was written before its recording was refused; the store is none the worse for it."""
    answer = recorded("r")
    store.record(turn(answer)).result(120)
    before = rows(store)
    with pytest.raises(StoreError, match="UNIQUE"):
        store.record(turn(answer, exchange="again")).result(120)
    assert (rows(store), store.health().state) == (before, "ok")
    assert store.record(turn(recorded("next"))).result(120) is True


def test_closing_commits_what_waits_and_then_refuses(path: Path) -> None:
    before = set(threading.enumerate())  # others' stores may last longer than their test
    store = SqliteStore(path)
    writes = [store.record(turn(each)) for each in conversation(20)]
    store.close()
    assert [write.result(0) for write in writes] == [True] * 20
    with pytest.raises(StoreError, match="is closed"):
        store.record(turn(recorded("r"))).result(120)
    with pytest.raises(StoreError, match="is closed"):
        store.recordings("local").by_id("r")
    left = set(threading.enumerate()) - before
    assert not [thread for thread in left if thread.name.startswith("clew store")]


def test_many_threads_read_while_one_writes(store: SqliteStore) -> None:
    answers = conversation(25)
    wrong: list[object] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            for each in answers[:5]:
                if store.recordings("local").by_id(each.id) not in (None, each):
                    wrong.append(each)

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for each in answers:
        store.record(turn(each)).result(120)
    done.set()
    for reader in readers:
        reader.join(120)
    assert wrong == []


@proves("fault:S3")
def test_the_log_is_checkpointed_and_bounded_even_while_a_reader_holds_it(path: Path) -> None:
    """S3: the log grows while another process keeps a snapshot, up to a bound; then writes are refused, until it lets go."""
    with SqliteStore(path, limits=WriterLimits(checkpoint_pages=20, wal_bytes=800_000)) as store:
        for number in range(40):
            store.record(turn(recorded(f"before{number}"))).result(5)
        assert store.health().wal_bytes < 800_000
        assert store.health().warning == ""
        reader = apsw.Connection(str(path))
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM recordings").fetchall()
        while store.health().wal_bytes <= 200_000:
            store.record(turn(recorded(f"more{store.health().wal_bytes}"))).result(5)
        assert re.fullmatch(
            r"the log has 2[0-9]{5} bytes of at most 800000, because another process reads without end: find and end it",
            store.health().warning,
        )
        writes = [store.record(turn(recorded(f"during{number}"))).exception(5) for number in range(200)]
        assert writes[0] is None
        assert "because another process reads without end" in str(writes[-1])
        assert path.with_name("store.sqlite-wal").stat().st_size < 1_600_000
        reader.close()
        assert store.health().state == "degraded"
        assert store.record(turn(recorded("after"))).result(120) is True
        assert (store.health().state, store.health().warning) == ("ok", "")


def test_a_turn_that_came_while_something_was_erased_does_not_wait_for_the_log(store: SqliteStore, path: Path) -> None:
    """It has waited for the erasing already. The log is emptied when nobody waits."""
    log = path.with_name(f"{path.name}-wal")
    has_begun, has_come = threading.Event(), threading.Event()
    sizes: list[int] = []

    def erase(connection: Database) -> None:
        connection.execute("INSERT INTO swept VALUES (?)", ("x" * 500_000,))
        connection.execute("DELETE FROM swept")
        has_begun.set()
        has_come.wait(120)

    erased = store._writer.submit(erase, erases="soon")
    assert has_begun.wait(120)
    kept = store.record(turn(recorded("r")))
    kept.add_done_callback(lambda _: sizes.append(log.stat().st_size))
    has_come.set()
    assert (erased.result(120), kept.result(120)) == (None, True)
    until(lambda: log.stat().st_size == 0)
    assert sizes[0] > 400_000
