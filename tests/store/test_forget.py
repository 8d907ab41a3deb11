"""Forgetting: a thread on request, by age from the last use, by size; and nothing half of it stays."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import msgspec
import pytest

from clew.errors import StoreError
from clew.model.turn import Bodies
from clew.store.sqlite.deletions import BATCH
from clew.store.sqlite.retention import _COUNTS, _EMPTY_THREAD, _OLD_BODIES, _ORPHANED_CALLS, _UNANSWERED, _UNUSED, TEXTLESS
from clew.store.sqlite.store import SqliteStore
from clew.store.values import DAY, Retention
from tests.database import connected
from tests.manifest import proves
from tests.store.tables import rows
from tests.store.turns import NOON, conversation, recorded, turn
from tests.waiting import until

EVERYTHING = Retention(age=None, bytes=None, usage_age=None)
NOTHING = {"recordings": 0, "marks": 0, "threads": 0, "turns": 0, "exchanges": 0, "usage": 0, "strangers": 0}


def test_deleting_a_thread_deletes_its_recordings_and_nobody_elses(store: SqliteStore) -> None:
    """Design §4, Forgetting. A recording that followed a deleted one is whole by itself."""
    answers = conversation(3)
    fork = recorded("fork", before=tuple(answers), thread="u")
    for each in (*answers, fork):
        store.record(turn(each)).result(120)
    assert [store.forget("other", "t", at=NOON).result(120), store.forget("local", "t", at=NOON).result(120)] == [
        False,
        True,
    ]
    assert [store.recordings("local").by_id(each.id) for each in (*answers, fork)] == [None] * 3 + [fork]
    assert rows(store) == NOTHING | {"recordings": 1, "marks": 3, "threads": 1, "turns": 1, "exchanges": 1, "usage": 4}
    assert store.verify() == ()
    assert store.forget("local", "t", at=NOON).result(120) is False


def test_what_lingers_does_not_bring_a_deleted_thread_back(store: SqliteStore) -> None:
    """A stream that is under way is kept with others, a moment later; its thread may be deleted by then."""
    answer = recorded("r")
    opened = store.record_open(turn(answer, exchange="r", outcome="open"))
    assert store.record(turn(answer, exchange="r")).result(120)
    assert store.forget("local", "t", at=NOON).result(120)
    opened.result(120)
    assert (store.thread("local", "t"), rows(store)["exchanges"], rows(store)["recordings"]) == (None, 0, 0)


def test_a_thread_that_was_forgotten_can_be_recorded_again(store: SqliteStore) -> None:
    """As an import does, on purpose. What it cost is counted once."""
    kept = turn(recorded("r"))
    assert store.record(kept).result(120)
    before = store.usage_totals("local")
    assert store.forget("local", "t", at=NOON).result(120)
    assert store.record(kept, brought_back=True).result(120)
    assert (store.usage_totals("local"), store.verify()) == (before, ())


@proves("fault:X16")
@pytest.mark.parametrize("searched", [False, True], ids=["not indexed", "indexed"])
def test_deleted_words_are_in_no_file_when_the_call_returns(store: SqliteStore, path: Path, searched: bool) -> None:
    """`secure_delete`, that of the index of words too, and a log that is emptied: for those who must erase."""
    store.record(turn(recorded("r", words="to be erased"), bodies=Bodies(asked=b"body"))).result(120)
    if searched:
        assert len(store.search("local", "erased")) == 1
    assert b"to be erased" in everything_in(path)
    store.forget("local", "t", at=NOON).result(120)
    assert [words for words in (b"erased", b"question", b"A title", b"secret") if words in everything_in(path)] == []
    assert [file.name for file in path.parent.iterdir() if file.stat().st_size and file.name.endswith("-wal")] == []


@proves("fault:X16")
def test_retention_leaves_no_words_either(store: SqliteStore, path: Path) -> None:
    store.record(turn(recorded("r", words="to be erased"))).result(120)
    assert len(store.search("local", "erased")) == 1
    tidied(store, Retention(age=DAY, bytes=None), NOON + 2 * DAY)
    store.touch("local", at=NOON).result(120)
    log = path.with_name(f"{path.name}-wal")
    until(lambda: log.stat().st_size == 0)  # as soon as nobody waits
    assert [words for words in (b"erased", b"question", b"A title", b"secret") if words in everything_in(path)] == []


@proves("fault:X16")
@pytest.mark.slow
def test_the_index_names_no_page_after_a_word_that_is_gone(store: SqliteStore, path: Path) -> None:
    """Half of the threads go: none of their words is in the index, neither whole nor as the beginning of a name."""
    chance = random.Random(5)
    own = {f"t{number}": ["".join(chance.choices("abcdefgh", k=12)) for _ in range(20)] for number in range(300)}
    writes = [
        store.record(turn(recorded(name, words=" ".join(words), thread=name), at=NOON + at))
        for at, (name, words) in enumerate(own.items())
    ]
    assert all(write.result(120) for write in writes)
    assert len(store.search("local", "answer nothing")) == 0
    gone = chance.sample(sorted(own), 150)
    assert all(store.forget("local", name, at=NOON).result(120) for name in gone)
    raw, kept = everything_in(path), [word for name, words in own.items() if name not in gone for word in words]
    assert [word for name in gone for word in own[name] if word.encode() in raw] == []
    with apsw_of(path) as connection:
        names = [bytes(term)[1:].decode() for (term,) in connection.execute("SELECT term FROM words_idx") if len(term) > 1]
    assert len(names) > 20
    assert [name for name in names if not any(word.startswith(name) for word in (*kept, "secret", "question"))] == []
    assert all(len(store.search("local", word)) == 1 for word in chance.sample(kept, 100))
    assert store.verify() == ()


def test_a_reader_in_the_way_is_said_and_what_was_deleted_goes_when_it_is_gone(path: Path) -> None:
    """The promise is that nothing is left when the call returns. Where it cannot be kept, the call says so."""
    with SqliteStore(path, busy=1.5) as store:
        store.record(turn(recorded("r", words="to be erased"))).result(120)
        with apsw_of(path) as reader:
            reader.execute("BEGIN; SELECT * FROM threads")
            store.record(turn(recorded("s", thread="u"))).result(120)
            with pytest.raises(StoreError, match="has it deleted, but not from its log yet"):
                store.forget("local", "t", at=NOON).result(120)
            assert (store.recordings("local").by_id("r"), b"to be erased" in everything_in(path)) == (None, True)
            store._writer._busy = 600.0
            store.touch("local", at=NOON).result(120)
            store.touch("local", at=NOON).result(120)  # nobody's turn waits for that reader
        store.touch("local", at=NOON).result(120)
        store.touch("local", at=NOON).result(120)
        assert b"to be erased" not in everything_in(path)


@contextmanager
def apsw_of(path: Path) -> Iterator[apsw.Connection]:
    connection = connected(path)
    try:
        yield connection
    finally:
        connection.close()


def everything_in(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in path.parent.iterdir())


def tidied(store: SqliteStore, retention: Retention, now: float) -> int:
    """Until nothing goes."""
    gone = 0
    while bite := store.apply_retention(retention, now=now).result(120):
        gone += bite
    return gone


def test_age_counts_from_the_last_use(store: SqliteStore) -> None:
    first, second = recorded("first", thread="t"), recorded("second", thread="u")
    store.record(turn(first))
    store.record(turn(second))
    store.touch("local", recordings=["second"], keys=[b"u" * 32], at=NOON + 5 * DAY).result(120)
    week = Retention(age=7 * DAY, bytes=None, usage_age=None)
    assert store.apply_retention(week, now=NOON + 6 * DAY).result(120) == 0
    assert tidied(store, week, NOON + 8 * DAY) == 1
    assert [store.recordings("local").by_id(each) for each in ("first", "second")] == [None, second]
    assert [each.id for each in store.threads("local")] == ["u"]
    assert tidied(store, week, NOON + 13 * DAY) == 2  # and the key that nobody here made
    assert rows(store) == NOTHING | {"usage": 2}
    assert store.verify() == ()


def test_usage_has_an_age_of_its_own(store: SqliteStore) -> None:
    store.record(turn(recorded("r"))).result(120)
    kept = msgspec.structs.replace(EVERYTHING, usage_age=DAY)
    assert store.apply_retention(kept, now=NOON + 2 * DAY).result(120) == 1
    assert rows(store) == NOTHING | {"recordings": 1, "marks": 3, "threads": 1, "turns": 1, "exchanges": 1}


def test_size_takes_the_longest_unused_first_and_the_file_shrinks(store: SqliteStore, path: Path) -> None:
    long = "word " * 2000
    for number in range(30):
        store.record(turn(recorded(f"r{number}", words=f"{number} {long}", thread=f"t{number}"), at=NOON + number)).result(
            120
        )
    store.touch("local", recordings=["r0"], at=NOON + 2 * DAY).result(120)
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
        store.record(turn(at=NOON + number)).result(120)
    assert tidied(store, Retention(bytes=0, age=None, usage_age=0), NOON + 10) == 6 + 3  # answers, questions, and usage
    assert rows(store) == NOTHING


def test_no_limit_takes_nothing(store: SqliteStore) -> None:
    store.record(turn(recorded("r"))).result(120)
    assert store.apply_retention(EVERYTHING, now=NOON * 2).result(120) == 0
    assert store.recordings("local").by_id("r") is not None


def test_a_recording_that_cannot_be_read_can_be_deleted(store: SqliteStore, path: Path) -> None:
    """By age, by size and on request: damage must not keep anything."""
    for name in ("a", "b"):
        store.record(turn(recorded(name, thread=name))).result(120)
    connection = connected(path)
    connection.execute("UPDATE recordings SET said = x'ff'")
    connection.close()
    assert store.forget("local", "a", at=NOON).result(120) is True
    assert tidied(store, Retention(age=DAY, bytes=None), NOON + 2 * DAY) == 1
    assert rows(store) == NOTHING | {"usage": 2}


def test_a_long_thread_goes_in_bites_between_which_turns_are_kept(store: SqliteStore, path: Path) -> None:
    for each in (long := conversation(35)):
        store.record(turn(each)).result(120)
    assert len(store.search("local", "answer", limit=100)) == 35
    forgotten = store.forget("local", "t", at=NOON)
    store.record(turn(recorded("meanwhile", thread="u"))).result(120)
    assert (forgotten.result(120), store.verify()) == (True, ())
    assert rows(store) == NOTHING | {"recordings": 1, "marks": 3, "threads": 1, "turns": 1, "exchanges": 1, "usage": 36}
    raw = everything_in(path)
    assert [each.id for each in long if f"input of {each.id}".encode() in raw] == []


def test_a_store_that_closes_leaves_a_shorter_thread(store: SqliteStore) -> None:
    """What is not done is said, and can be done again."""
    store.record(turn(recorded("r"))).result(120)
    store.close()
    with pytest.raises(StoreError, match="is closed"):
        store.forget("local", "t", at=NOON).result(120)


def test_a_bite_ends_when_its_time_is_over(store: SqliteStore) -> None:
    """Long texts take longest: each word is taken out of the index by itself, and turns wait meanwhile."""
    for number in range(BATCH):
        long = " ".join(f"{number}w{each}" for each in range(4000))
        store.record(turn(recorded(f"r{number}", words=long), at=NOON + number)).result(120)
    while store.index_turns().result(120):
        pass
    bites: list[int] = []
    while bite := store.apply_retention(Retention(age=DAY, bytes=None), now=NOON + 2 * DAY).result(120):
        bites.append(bite)
    assert (sum(bites), max(bites) < BATCH // 2) == (BATCH, True)
    assert (store.threads("local"), store.verify()) == ([], ())


def test_nothing_that_a_bite_does_goes_through_all_threads_or_bodies(store: SqliteStore) -> None:
    """There may be tens of thousands, and turns wait meanwhile."""
    statements = (_EMPTY_THREAD, _ORPHANED_CALLS, _OLD_BODIES, _UNANSWERED, _COUNTS, _UNUSED)
    with store._readers.use() as connection:
        steps = [
            str(row[3])
            for each in statements
            for row in connection.execute(f"EXPLAIN QUERY PLAN {each}", (0, 0)[: bound(each)])
        ]
    assert [step for step in steps if step.startswith("SCAN") and step != "SCAN settings"] == []


def bound(statement: str) -> int:
    """How many values it takes."""
    return 2 if "?2" in statement else statement.count("?")


@pytest.mark.parametrize("retention", [Retention(age=DAY, bytes=None), Retention(age=None, bytes=0)], ids=["age", "size"])
def test_a_thread_goes_with_its_last_turn_answered_or_not(store: SqliteStore, retention: Retention) -> None:
    store.record(turn(recorded("r", thread="both"))).result(120)
    store.record(turn(thread="both", exchange="x")).result(120)
    store.record(turn(recorded("s", thread="answered"))).result(120)
    store.record(turn(thread="unanswered", exchange="y")).result(120)
    store.record(turn(recorded("new", thread="new"), at=NOON + 2 * DAY)).result(120)
    tidied(store, retention, NOON + 2 * DAY)
    assert [each.id for each in store.threads("local")] == (["new"] if retention.age else [])
    assert store.verify() == ()


def test_what_has_no_words_goes_in_larger_bites_and_is_counted_until_it_is_gone(store: SqliteStore) -> None:
    """Anyone who calls until nothing goes leaves none, however many came since the last round."""
    store.touch("local", keys=[number.to_bytes(32) for number in range(TEXTLESS + 1)], at=NOON).result(120)
    bites = [store.apply_retention(Retention(age=DAY, bytes=None), now=NOON + 2 * DAY).result(120) for _ in range(3)]
    assert bites == [TEXTLESS, 1, 0]
    assert rows(store)["strangers"] == 0
