"""Bodies that go on from others are kept as what is new in them, and each comes back as it was."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.model.turn import Bodies
from clew.store import pieces
from clew.store.pieces import LEAST, MOST_SPANS, BodyChain, Chains, join_spans
from clew.store.sqlite.store import SqliteStore
from clew.store.sqlite.writer import WriterLimits
from clew.store.values import DAY, Retention
from tests.counts import examples
from tests.store.turns import NOON, recorded, turn
from tests.waiting import until

WORDS = [b"parse ", b"the ", b"buffer ", b"because ", b"holds "]
AT_ONCE = WriterLimits(long_delay=0.0)


def said(size: int, seed: int = 1) -> bytes:
    chance = random.Random(seed)
    return b"".join(chance.choices(WORDS, k=size // 5))[:size]


def request(count: int, mark: bytes = b"*") -> bytes:
    """The request of a turn: the history so far, a mark that moves with its end, and what clients put behind it."""
    return b"[" + said(LEAST + 9000 * count) + mark + b"]" + said(LEAST, seed=7)


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 9), st.integers(0, 3)), min_size=1, max_size=12))
def test_whatever_went_before_a_body_comes_back_as_it_was(talk: list[tuple[str, int, int]]) -> None:
    """Longer, shorter, forked, or another one altogether, at its beginning and at its end."""
    chain, kept = BodyChain(0), dict[int, bytes]()

    def piece(number: int) -> bytes:
        return kept[chain.id + number]

    for which, length, tail in talk:
        body = said(length * 8000) + said(tail * 10_000, seed=2 + tail) + said(5000, seed=1 + tail % 2)
        spans = chain.add(which, body)
        kept.update(chain.take_pieces())
        assert join_spans(spans, piece) == body


def test_a_body_that_goes_on_costs_what_is_new() -> None:
    """Also where what is new stands before the end: clients put tools and settings behind the messages."""
    chain, sizes = BodyChain(0), list[int]()
    for count in range(20):
        chain.add("asked", request(count))
        sizes.append(sum(len(each) for each in chain._pieces))
        chain.take_pieces()
    assert (sizes[0], max(sizes[1:])) == (len(request(0)), 9000)


def test_another_chain_begins_where_nothing_is_gained() -> None:
    """With a new day, with a body that has little of the last one, with too many spans, and when it is broken."""
    chains, name = Chains(), ("local", "t", "messages")

    def found(body: bytes, day: int = 0) -> BodyChain:
        chain = chains.find(name, day, body)
        assert chain is not None
        chain.add("asked", body)
        return chain

    first = found(request(0))
    assert (found(request(1)) is first, found(request(1), day=1) is first) == (True, False)
    second = found(request(2), day=1)
    assert found(said(80_000, seed=3), day=1) is not second
    third = found(request(3), day=1)
    third.is_broken = True
    assert found(request(3), day=1) is not third
    fourth = found(request(4), day=1)
    body = bytearray(request(4))
    for number in range(MOST_SPANS):
        body[7 * number] ^= 1
        fourth.add("asked", bytes(body))
    assert found(bytes(body), day=1) is not fourth


def test_a_chain_ends_when_much_of_it_is_not_needed_any_more() -> None:
    chains, ids = Chains(), set[int]()
    for number in range(40):
        body = request(0, mark=said(9000, seed=number))
        chain = chains.find(("t",), 0, body)
        assert chain is not None
        chain.add("asked", body)
        ids.add(chain.id)
        assert chain._bytes <= 5 * len(body)
    assert 1 < len(ids) < 10


def test_small_and_very_large_bodies_are_kept_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "LARGEST", 100_000)
    found = [Chains().find(("t",), 0, said(size)) for size in (LEAST - 1, LEAST, 100_000, 100_001)]
    assert [each is not None for each in found] == [False, True, True, False]


def test_what_is_remembered_is_bounded_and_the_longest_silent_goes_first() -> None:
    chains, body = Chains(250_000), said(100_000)
    for name in ("a", "b", "c", "a", "d"):
        chain = chains.find((name,), 0, body)
        assert chain is not None
        chain.add("asked", body)
    chains.trim()
    assert [*chains._chains] == [("a",), ("d",)]


def hold_session(store: SqliteStore, count: int, *, at: float = NOON, start: int = 0, thread: str = "t") -> list[Bodies]:
    """The bodies of a conversation, each turn with all that was said before."""
    told: list[Bodies] = []
    for number in range(start, start + count):
        asked = request(number)
        told.append(Bodies(asked=asked, sent=asked.replace(b"*", b"+"), answered=b"a%d" % number))
        id = f"{thread}{number}"
        store.record(turn(recorded(id, thread=thread), at=at + number, bodies=told[-1])).result(120)
    return told


def count_of(store: SqliteStore, table: str) -> int:
    with store._readers.use() as connection:
        return connection.execute(f"SELECT count(*) FROM {table}").get


def test_the_bodies_of_a_session_are_found_at_once_and_after_a_restart(path: Path) -> None:
    with SqliteStore(path) as store:
        told = hold_session(store, 5)
        assert [store.bodies("local", f"x-t{number}") for number in range(5)] == told
    with SqliteStore(path) as store:
        assert [store.bodies("local", f"x-t{number}") for number in range(5)] == told
        assert (count_of(store, "pieces"), store.verify()) == (10, ())


def test_what_is_not_among_the_last_when_its_time_comes_is_never_written(path: Path) -> None:
    with SqliteStore(path, keep=2) as store:
        told = hold_session(store, 5)
        assert [store.bodies("local", f"x-t{number}") for number in range(5)] == [None, None, None, *told[3:]]
    with SqliteStore(path, keep=2) as store:
        assert [store.bodies("local", f"x-t{number}") for number in range(5)] == [None, None, None, *told[3:]]
        assert (count_of(store, "pieces"), store.verify()) == (4, ())


def test_pieces_are_kept_as_long_as_one_of_their_bodies_is(path: Path) -> None:
    """The first bodies go, and what the later ones have of them stays; with the last of them all goes."""
    with SqliteStore(path, keep=None, limits=AT_ONCE) as store:
        told = hold_session(store, 4)
        until(lambda: store._bodies._bytes == 0)
        for _ in range(3):
            store.apply_retention(Retention(age=None, bytes=1), now=NOON).result(120)
            if count_of(store, "bodies") < 4:
                break
        left = [store.bodies("local", f"x-t{number}") for number in range(4)]
        assert left == [each if each in left else None for each in told]
        assert (None in left, store.verify()) == (True, ())
        store.forget("local", "t", at=NOON + 9).result(120)
        assert (count_of(store, "bodies"), count_of(store, "pieces")) == (0, 0)


def test_a_body_goes_on_though_what_it_went_on_from_is_gone(path: Path) -> None:
    """Other conversations push a silent one out, and then it continues: its next body is kept whole."""
    with SqliteStore(path, keep=2, limits=AT_ONCE) as store:
        hold_session(store, 2)
        until(lambda: store._bodies._bytes == 0)
        hold_session(store, 2, thread="u")
        until(lambda: store._bodies._bytes == 0)
        assert store.bodies("local", "x-t1") is None
        told = hold_session(store, 2, start=2)
        until(lambda: store._bodies._bytes == 0)
        assert ([store.bodies("local", f"x-t{number}") for number in (2, 3)], store.verify()) == (told, ())


def test_the_bodies_of_a_day_can_be_dropped_without_those_of_another(path: Path) -> None:
    with SqliteStore(path, keep=None) as store:
        hold_session(store, 2)
        told = hold_session(store, 2, at=NOON + DAY, start=2)
    with SqliteStore(path, keep=None) as store:
        day = int(NOON // DAY)
        store._writer.submit(lambda connection: connection.execute("DELETE FROM pieces WHERE day = ?", (day,))).result(120)
        assert [store.bodies("local", f"x-t{number}") for number in (2, 3)] == told
