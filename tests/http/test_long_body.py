"""A body in several pieces, some of them put where it will be by somebody else."""

from __future__ import annotations

import random
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.http import long_body
from clew.http.long_body import LongBody
from tests.counts import examples


@settings(max_examples=examples(30, soak=1000))
@given(st.integers(1, 3000), st.integers(0, 1 << 20))
def test_a_body_is_what_came_however_it_came(length: int, seed: int) -> None:
    chance = random.Random(seed)
    whole, body = chance.randbytes(length), LongBody(length)
    while body.due:
        size = chance.randint(0, body.due)
        piece = whole[body.size : body.size + size]
        if chance.random() < 0.5:
            body.add(piece)
        else:
            before = body.size

            def read(free: memoryview, piece: bytes = piece) -> int:
                came = min(len(free), len(piece))
                free[:came] = piece[:came]
                return came

            assert body.fill(read) == body.size - before
    assert body.whole() == whole


def test_to_announce_a_long_body_reserves_no_memory() -> None:
    tracemalloc.start()
    try:
        body = LongBody(1 << 30)
        body.add(b"x" * 1000)
        assert body.fill(lambda free: 0) == 0
        assert (body.size, tracemalloc.get_traced_memory()[1] < 50_000) == (1000, True)
    finally:
        tracemalloc.stop()


def test_all_bodies_together_reserve_so_much_ahead_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """A crowd that sends a little of much takes twice what it sent, beyond a bound for all."""
    monkeypatch.setattr(long_body, "_MOST_AHEAD", 100_000)
    before = LongBody.reserved
    bodies = [LongBody(1 << 20) for _ in range(100)]
    for body in bodies:
        body.add(b"x" * 4000)
    assert LongBody.reserved - before <= 100_000 + 100 * 4000
    for body in bodies[:50]:
        while body.due:
            body.add(b"y" * min(body.due, 50_000))
    assert {len(body.whole()) for body in bodies[:50]} == {1 << 20}
    del body, bodies
    assert LongBody.reserved == before


def test_nothing_is_lent_before_something_came() -> None:
    """Anyone who waits for a 100 before it sends the body has sent nothing yet."""
    body = LongBody(1 << 20)
    assert (body.fill(lambda free: 1), body.due) == (0, 1 << 20)


def test_a_body_takes_no_more_memory_than_it_has_bytes() -> None:
    """What was collected is handed out as it is."""
    half = bytes(1 << 20)

    def read(free: memoryview) -> int:
        free[:] = half
        return len(half)

    tracemalloc.start()
    try:
        body = LongBody(2 << 20)
        body.add(half)
        body.fill(read)
        whole = body.whole()
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (len(whole), whole.count(0), most < (2 << 20) + 10_000) == (2 << 20, 2 << 20, True)


def test_what_was_never_written_to_is_never_read() -> None:
    """The buffer is not cleared: a body that is not whole would be somebody else's bytes."""
    body = LongBody(100)
    body.add(b"x" * 60)
    with pytest.raises(ValueError, match="40 bytes"):
        body.whole()
