"""Forgetting: a thread on request, by age from the last use, by size; and nothing half of it stays."""

from pathlib import Path

import apsw
import msgspec

from clew.store import SqliteStore
from clew.store.values import DAY, Retention
from tests.store.test_recordings import rows
from tests.store.turns import NOON, conversation, recorded, turn

EVERYTHING = Retention(age=None, bytes=None, usage_age=None)
NOTHING = {"recordings": 0, "marks": 0, "threads": 0, "turns": 0, "exchanges": 0, "usage": 0, "strangers": 0}


def test_deleting_a_thread_deletes_its_recordings_and_nobody_elses(store: SqliteStore) -> None:
    """Design §4, Forgetting. A recording that followed a deleted one is whole by itself."""
    answers = conversation(3)
    fork = recorded("fork", before=tuple(answers), thread="u")
    for each in (*answers, fork):
        store.record(turn(each)).result(5)
    assert [store.forget("other", "t").result(5), store.forget("local", "t").result(5)] == [False, True]
    assert [store.recordings("local").by_id(each.id) for each in (*answers, fork)] == [None] * 3 + [fork]
    assert rows(store) == NOTHING | {"recordings": 1, "marks": 3, "threads": 1, "turns": 1, "exchanges": 1, "usage": 4}
    assert store.verify() == ()
    assert store.forget("local", "t").result(5) is False


def test_deleted_words_are_in_no_file(store: SqliteStore, path: Path) -> None:
    """`secure_delete`, and a log that is emptied: for those who must erase."""
    store.record(turn(recorded("r", words="to be erased"))).result(5)
    assert b"to be erased" in everything_in(path)
    store.forget("local", "t").result(5)
    store.touch("local", at=NOON).result(5)  # the log is emptied after the commit; what comes next finds it so
    assert [words for words in (b"to be erased", b"secret question", b"A title") if words in everything_in(path)] == []


def everything_in(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in path.parent.iterdir())


def tidied(store: SqliteStore, retention: Retention, now: float) -> int:
    """Until nothing goes."""
    gone = 0
    while bite := store.retain(retention, now=now).result(5):
        gone += bite
    return gone


def test_age_counts_from_the_last_use(store: SqliteStore) -> None:
    first, second = recorded("first", thread="t"), recorded("second", thread="u")
    store.record(turn(first))
    store.record(turn(second))
    store.touch("local", recordings=["second"], keys=[b"u" * 32], at=NOON + 5 * DAY).result(5)
    week = Retention(age=7 * DAY, bytes=None, usage_age=None)
    assert store.retain(week, now=NOON + 6 * DAY).result(5) == 0
    assert tidied(store, week, NOON + 8 * DAY) == 1
    assert [store.recordings("local").by_id(each) for each in ("first", "second")] == [None, second]
    assert [each.id for each in store.threads("local")] == ["u"]
    assert tidied(store, week, NOON + 13 * DAY) == 1
    assert rows(store) == NOTHING | {"usage": 2}
    assert store.verify() == ()


def test_usage_has_an_age_of_its_own(store: SqliteStore) -> None:
    store.record(turn(recorded("r"))).result(5)
    kept = msgspec.structs.replace(EVERYTHING, usage_age=DAY)
    assert store.retain(kept, now=NOON + 2 * DAY).result(5) == 0
    assert rows(store) == NOTHING | {"recordings": 1, "marks": 3, "threads": 1, "turns": 1, "exchanges": 1}


def test_size_takes_the_longest_unused_first_and_the_file_shrinks(store: SqliteStore, path: Path) -> None:
    long = "word " * 2000
    for number in range(30):
        store.record(turn(recorded(f"r{number}", words=f"{number} {long}", thread=f"t{number}"), at=NOON + number)).result(5)
    store.touch("local", recordings=["r0"], at=NOON + 2 * DAY).result(5)
    limit = Retention(age=None, bytes=400_000, usage_age=None)
    assert tidied(store, limit, NOON) > 0
    left = [number for number in range(30) if store.recordings("local").by_id(f"r{number}")]
    assert left == [0, *range(left[1], 30)]
    assert 5 < len(left) < 25
    assert store.verify() == ()
    store.close()
    assert path.stat().st_size <= 400_000


def test_size_below_everything_takes_everything(store: SqliteStore) -> None:
    for number in range(3):
        store.record(turn(recorded(f"r{number}"))).result(5)
        store.record(turn(at=NOON + number)).result(5)
    assert tidied(store, Retention(bytes=0, age=None, usage_age=0), NOON + 10) == 6
    assert rows(store) == NOTHING


def test_no_limit_takes_nothing(store: SqliteStore) -> None:
    store.record(turn(recorded("r"))).result(5)
    assert store.retain(EVERYTHING, now=NOON * 2).result(5) == 0
    assert store.recordings("local").by_id("r") is not None


def test_a_recording_that_cannot_be_read_can_be_deleted(store: SqliteStore, path: Path) -> None:
    """By age, by size and on request: damage must not keep anything."""
    for name in ("a", "b"):
        store.record(turn(recorded(name, thread=name))).result(5)
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE recordings SET said = x'ff'")
    connection.close()
    assert store.forget("local", "a").result(5) is True
    assert tidied(store, Retention(age=DAY, bytes=None), NOON + 2 * DAY) == 1
    assert rows(store) == NOTHING | {"usage": 2}
