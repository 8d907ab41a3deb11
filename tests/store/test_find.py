"""How recordings are found: by a few searches whatever the size of the store, decoded once, and never after they are gone."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import apsw
import pytest

from clew.model.recording import Recording
from clew.store.memory import RecordingCache
from clew.store.sqlite import lookups
from clew.store.sqlite.store import SqliteStore
from tests.counts import examples
from tests.manifest import proves
from tests.numbers import note
from tests.store.turns import NOON, conversation, gathered, recorded, turn

MARKS = "SEARCH marks USING PRIMARY KEY (principal=? AND kind=? AND hash=?)"


def plan(store: SqliteStore, statement: str, bindings: object) -> list[str]:
    with store._readers.use() as connection:
        return [str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", bindings)]


@proves("req:S1-47")
def test_finding_takes_no_walk_through_all_marks(store: SqliteStore) -> None:
    """S1-47 in SQLite's own words: every step is a search by its whole key, in a table of ten as of a hundred thousand."""
    assert plan(store, lookups._MARKED, ("", "", "")) == [
        "SEARCH recordings USING INTEGER PRIMARY KEY (rowid=?)",
        "LIST SUBQUERY 1",
        MARKS,
    ]
    assert plan(store, lookups._EXISTS, ("", "")) == [
        "SEARCH recordings USING COVERING INDEX sqlite_autoindex_recordings_1 (principal=? AND id=?)"
    ]


def fill(store: SqliteStore, count: int) -> list[Recording]:
    answers = [recorded(f"r{number}", thread=f"t{number // 50}", digest=b"") for number in range(count)]
    for at in range(0, count, 500):  # the queue takes a thousand
        for write in [store.record(turn(each)) for each in answers[at : at + 500]]:
            write.result(120)
    return answers


def pages(store: SqliteStore, look: Callable[[], object]) -> int:
    """How many pages one look-up touches."""
    with store._readers.use() as connection:
        assert isinstance(connection, apsw.Connection)
    before = _touched(connection)
    assert look()
    return _touched(connection) - before


def _touched(connection: apsw.Connection) -> int:
    kinds = (apsw.SQLITE_DBSTATUS_CACHE_HIT, apsw.SQLITE_DBSTATUS_CACHE_MISS)
    return sum(connection.status(kind)[0] for kind in kinds)


@pytest.mark.slow
@proves("req:S1-47")
def test_a_look_up_touches_hardly_more_pages_in_a_large_store_than_in_a_small_one(tmp_path: Path) -> None:
    """S1-47: within a factor of three, counted and not timed."""
    touched: list[list[int]] = []
    for count in (10, examples(3_000, soak=100_000)):
        with SqliteStore(tmp_path / f"home{count}" / "store.sqlite") as store:
            wanted = fill(store, count)[count // 2]
            store._memory.cache = RecordingCache(0)
            found = store.recordings("local")
            looks = (
                partial(found.by_key, wanted.keys[0]),
                partial(found.by_tool, wanted.said.ids[0]),
                partial(found.by_place, wanted.place),
                partial(found.by_id, wanted.id),
            )
            touched.append([pages(store, look) for look in looks])
    note("pages of a look-up: key, tool, place, id, in a small store and a large one", str(touched))
    small, large = touched
    assert all(many <= 3 * few for few, many in zip(small, large, strict=True)), touched


def test_what_was_read_lately_is_not_decoded_again(store: SqliteStore) -> None:
    """And each way leads to the same value."""
    recording = recorded("r")
    store.record(turn(recording)).result(120)
    found = store.recordings("local")
    first = found.by_id("r")
    assert first == recording
    others = [found.by_key(recording.keys[0]), *found.by_tool("toolu_r"), *found.by_place(recording.place)]
    assert [each is first for each in others] == [True] * 3
    assert store.recordings("local").by_id("r") is first


def test_a_recording_that_another_process_deletes_is_found_no_more_though_it_was_read(
    store: SqliteStore, path: Path
) -> None:
    """Deletion is the only thing that happens to a recording, and it is asked for each time."""
    recording, found = recorded("r"), store.recordings("local")
    store.record(turn(recording)).result(120)
    assert found.by_id("r") == recording
    with SqliteStore(path) as other:
        other.forget("local", "t", at=NOON).result(120)
    assert (found.by_id("r"), found.by_key(recording.keys[0])) == (None, None)
    assert [list(found.by_tool("toolu_r")), list(found.by_place(recording.place))] == [[], []]


def test_a_row_that_takes_the_number_of_a_deleted_one_is_not_mistaken_for_it(store: SqliteStore) -> None:
    """SQLite gives the last number again once its row is gone."""
    first, second, found = recorded("first"), recorded("second", thread="u"), store.recordings("local")
    store.record(turn(first)).result(120)
    assert found.by_key(first.keys[0]) == first
    store.forget("local", "t", at=NOON).result(120)
    store.record(turn(second)).result(120)
    assert (found.by_key(first.keys[0]), found.by_key(second.keys[0])) == (None, second)


def test_nobody_gets_what_another_principal_read(store: SqliteStore) -> None:
    mine, theirs = recorded("r"), recorded("r", principal="other", words="Theirs.")
    for each in (mine, theirs):
        store.record(turn(each)).result(120)
    for _ in range(2):
        assert store.recordings("local").by_id("r") == mine
        assert store.recordings("other").by_id("r") == theirs
    assert store.recordings("third").by_id("r") is None


def test_what_is_kept_decoded_is_bounded_and_the_longest_unused_goes_first() -> None:
    answers = [recorded(f"r{number}", words=f"{number} " + "word " * 200) for number in range(4)]
    kept = RecordingCache(most=12_000)
    for each in answers[:3]:
        kept.add(each)
    assert kept.get("local", "r0") is answers[0]
    kept.add(answers[3])
    assert [kept.get("local", each.id) is not None for each in answers] == [True, False, True, True]
    kept.add(recorded("huge", words="word " * 9000))
    assert kept.get("local", "huge") is None
    assert kept.get("local", "r3") is answers[3]


def test_of_a_thousand_answers_at_one_place_the_newest_are_looked_at(store: SqliteStore) -> None:
    """Anyone who asks the same again and again must not wait for all of it."""
    same = [recorded(f"r{number}", words="Hello.", digest=b"") for number in range(lookups.MOST_MARKED + 20)]
    for write in [store.record(turn(each)) for each in same]:
        write.result(120)
    assert list(store.recordings("local").by_place(same[0].place)) == same[20:]


def test_a_gathering_takes_what_is_nearest_and_ends(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Links may lead back over years; a request needs what it points at, and some more."""
    monkeypatch.setattr(lookups, "MOST_LINKED", 5)
    answers = conversation(12, digest=b"")
    for write in [store.record(turn(each)) for each in answers]:
        write.result(120)
    shelf = gathered(store, "local", keys=answers[-1].keys)
    assert [each.id for each in answers if shelf.by_id(each.id)] == [f"r{number}" for number in range(6, 12)]
    pointed = gathered(store, "local", keys=[each.keys[0] for each in answers])
    assert [each.id for each in answers if pointed.by_id(each.id)] == [each.id for each in answers]


def test_many_threads_look_up_at_once_and_each_gets_its_own(store: SqliteStore) -> None:
    answers = conversation(30, digest=b"")
    for write in [store.record(turn(each)) for each in answers]:
        write.result(120)
    wrong: list[str] = []
    old = sys.getswitchinterval()

    def look(start: int) -> None:
        found = store.recordings("local")
        for number in range(300):
            each = answers[(start + number) % 30]
            if not (found.by_id(each.id) == found.by_key(each.keys[0]) == found.by_tool(each.said.ids[0])[0] == each):
                wrong.append(each.id)

    threads = [threading.Thread(target=look, args=(start,)) for start in range(6)]
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
    finally:
        sys.setswitchinterval(old)
    assert wrong == []
