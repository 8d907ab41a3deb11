"""What nobody waits for lingers, and goes together: one commit for many, and none of them in a turn's way."""

from collections.abc import Callable
from pathlib import Path

import pytest

from clew.errors import StoreError
from clew.model.turn import Bodies
from clew.store.batches import DelayedQueue
from clew.store.sqlite.store import SqliteStore
from clew.store.sqlite.writer import WriterLimits
from tests.manifest import proves
from tests.store.test_writer import Lock
from tests.store.turns import NOON, conversation, recorded, turn
from tests.waiting import until

LONG = 3600.0


def transactions(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many commands each transaction from now on has."""
    sizes: list[int] = []
    transact: Callable[..., object] = store._writer._transact

    def counted(running: list[object]) -> object:
        sizes.append(len(running))
        return transact(running)

    monkeypatch.setattr(store._writer, "_transact", counted)
    return sizes


def test_they_are_due_when_the_first_has_waited_or_when_there_are_enough() -> None:
    waiting, hurried = DelayedQueue[str](LONG, most=3, most_bytes=100), DelayedQueue[str](0.0)
    assert [waiting.add("a", 1), waiting.is_due(), waiting.add("b", 1), waiting.is_due()] == [True, False, False, False]
    assert [waiting.add("c", 1), waiting.is_due(), waiting.take(), waiting.is_due()] == [True, True, ["a", "b", "c"], False]
    assert [waiting.add("d", 100), waiting.is_due(), waiting.seconds_left() is None] == [True, True, False]
    assert [hurried.seconds_left(), hurried.is_due(), hurried.add("a", 1), hurried.is_due(), hurried.seconds_left()] == [
        *(None, False, True, True, 0.0)
    ]


def test_no_more_go_together_than_a_turn_may_wait_for() -> None:
    lingering = DelayedQueue[str](0.0, most=3, most_bytes=100)
    for name, weight in (("a", 300), ("b", 60), ("c", 60), ("d", 1), ("e", 1), ("f", 1), ("g", 1)):
        lingering.add(name, weight)
    assert [lingering.take() for _ in range(5)] == [["a"], ["b", "c"], ["d", "e", "f"], ["g"], []]
    assert len(lingering) == 0


def test_a_turn_is_committed_while_others_linger(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with SqliteStore(path, limits=WriterLimits(delay=LONG)) as store:
        sizes = transactions(store, monkeypatch)
        lazy = [store._writer.submit(lambda _: "done", lazily=True) for _ in range(3)]
        assert store.record(turn(recorded("r"))).result(120) is True
        assert ([write.done() for write in lazy], sizes) == ([False] * 3, [1])
    assert ([write.result(0) for write in lazy], sizes) == (["done"] * 3, [1, 3])


@pytest.mark.parametrize(("linger", "count"), [(0.01, 1), (LONG, 32)], ids=["its time is over", "there are enough"])
def test_it_is_done_though_nobody_asks_again(path: Path, linger: float, count: int) -> None:
    with SqliteStore(path, limits=WriterLimits(delay=linger)) as store:
        writes = [store._writer.submit(lambda _: "done", lazily=True) for _ in range(count)]
        assert [write.result(120) for write in writes] == ["done"] * count


def test_what_requests_brought_is_marked_as_seen_in_one_go(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each principal, and as if each had been marked by itself."""
    answers, others = conversation(3), conversation(2, "o", principal="other")
    with SqliteStore(path, limits=WriterLimits(long_delay=LONG)) as store:
        for each in (*answers, *others):
            store.record(turn(each)).result(120)
        sizes = transactions(store, monkeypatch)
        for each in (*answers[:2], others[0]):
            store.touch(each.principal, keys=each.keys, recordings=[each.id], at=NOON + 9, lazily=True)
        written = store.touch("local", keys=[b"u" * 32], at=NOON + 9, lazily=True)
        assert (store.statistics("local", backend="claude", now=NOON).confirmed, sizes) == (0, [])
    assert (written.result(0), sizes) == (None, [1])
    with SqliteStore(path) as store:
        counted = [store.statistics(name, backend="claude", now=NOON) for name in ("local", "other")]
        assert [(each.confirmed, each.total, each.unknown) for each in counted] == [(2, 3, 1), (1, 2, 0)]


def test_a_moment_later_there_is_another_go(path: Path) -> None:
    first, second = conversation(2)
    with SqliteStore(path, limits=WriterLimits(long_delay=0.001)) as store:
        for each in (first, second):
            store.record(turn(each)).result(120)
            store.touch("local", keys=each.keys, at=NOON + 9, lazily=True).result(120)
        assert store.statistics("local", backend="claude", now=NOON).confirmed == 2


@pytest.mark.parametrize("lingers", [0.001, LONG])
def test_a_turn_that_is_over_is_not_replaced_by_one_that_lingered(path: Path, lingers: float) -> None:
    """It was under way when it was handed over, and is whole when its time comes. Until then it is found as it was."""
    whole, half = recorded("r"), recorded("r", words="Half.", whole=False)
    with SqliteStore(path, limits=WriterLimits(delay=lingers)) as store:
        opened = store.record_open(turn(half, exchange="r", outcome="open"))
        if lingers != LONG:
            assert opened.result(120) is True
        assert store.recordings("local").by_id("r") == half
        assert store.record(turn(whole, exchange="r")).result(120) is True
        assert store.recordings("local").by_id("r") == whole
    assert opened.result(0) is (lingers != LONG)
    with SqliteStore(path) as store:
        assert [(each.exchange, each.recording) for each in store.passages("local", "t")] == [("r", whole)]
        assert ([each.outcome for each in store.exchanges("local")], store.verify()) == (["whole"], ())


@proves("fault:S4")
def test_what_lingers_is_bounded_and_takes_no_turns_room(path: Path) -> None:
    """S4: a locked database costs no memory for what nobody waits for; and the queue of turns is its own."""
    with SqliteStore(path, limits=WriterLimits(waiting=3, delay=0.0)) as store, Lock(path):
        held = store.record(turn(recorded("r0")))
        until(lambda: not store.health().waiting)  # it is being written, and waits for the lock
        lazy = [store._writer.submit(lambda _: None, weight=20 << 20, lazily=True) for _ in range(4)]
        assert isinstance(lazy[3].exception(0), StoreError)
        turns = [store.record(turn(each)) for each in conversation(4)[1:]]
        assert [write.done() for write in (held, *lazy[:3], *turns)] == [False] * 7


def test_what_lingers_is_bounded_in_bytes_too(path: Path) -> None:
    with SqliteStore(path, limits=WriterLimits(waiting_bytes=1000, delay=LONG)) as store:
        lazy = [store._writer.submit(lambda _: "done", weight=600, lazily=True) for _ in range(2)]
        with pytest.raises(StoreError, match="1 writes of 600 bytes wait already"):
            lazy[1].result(0)
    assert lazy[0].result(0) == "done"


def test_a_closed_store_gathers_nothing(path: Path) -> None:
    store = SqliteStore(path)
    store.close()
    assert isinstance(store.touch("local", keys=[b"u" * 32], at=NOON, lazily=True).exception(0), StoreError)
    assert store._touches._gathered == {}


def test_the_bodies_of_several_turns_are_one_transaction(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small ones; and as many of each principal are kept as the setting says."""
    kept = [Bodies(asked=b"a%d" % number) for number in range(3)]
    with SqliteStore(path, keep=2, limits=WriterLimits(long_delay=LONG)) as store:
        sizes = transactions(store, monkeypatch)
        for each, bodies in zip(conversation(3), kept, strict=True):
            store.record(turn(each, bodies=bodies)).result(120)
    assert sizes == [1, 1, 1, 1]
    with SqliteStore(path) as store:
        assert [store.bodies("local", f"x-r{number}") for number in range(3)] == [None, kept[1], kept[2]]
