"""An answer that is being written is found already: the client has it, and the next request comes with it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from clew.model.recording import Recordings
from clew.store.sqlite.store import SqliteStore
from tests.store.turns import conversation, recorded, turn


@contextmanager
def a_writer_that_is_busy(store: SqliteStore) -> Iterator[None]:
    """Nothing is committed inside the block."""
    go, began = threading.Event(), threading.Event()

    def wait(_: object) -> None:
        began.set()
        go.wait(120)

    busy = store._writer.submit(wait)
    assert began.wait(120)
    try:
        yield
    finally:
        go.set()
        busy.result(120)


def looked_up(recordings: Recordings, answer) -> list[object]:
    return [
        recordings.by_id(answer.id),
        recordings.by_key(answer.keys[0]),
        *recordings.by_tool(answer.said.ids[0]),
        *recordings.by_place(answer.place),
    ]


def test_it_is_found_before_it_is_committed_and_after(store: SqliteStore) -> None:
    """By everything that it can be found by, and once."""
    answer = recorded("r0")
    with a_writer_that_is_busy(store):
        written = store.record(turn(answer))
        assert not written.done()
        assert looked_up(store.recordings("local"), answer) == [answer] * 4
        assert store.recordings("somebody else").by_id("r0") is None
    assert written.result(120)
    assert looked_up(store.recordings("local"), answer) == [answer] * 4


def test_beside_one_that_is_written_it_is_the_newer(store: SqliteStore) -> None:
    first = recorded("r0", words="the same words")
    store.record(turn(first)).result(120)
    second = recorded("r1", words="the same words")
    with a_writer_that_is_busy(store):
        store.record(turn(second))
        assert store.recordings("local").by_place(first.place) == [first, second]
    store.record(turn(recorded("r2"))).result(120)
    assert store.recordings("local").by_place(first.place) == [first, second]


def test_one_that_could_not_be_written_is_not_found_any_more(store: SqliteStore) -> None:
    """The store tells no lie about what it has."""
    first, _ = conversation(2)
    store.close()
    failed = store.record(turn(first))
    assert failed.exception(10) is not None
    assert store._memory.pending.of("local") is None
