"""Bodies that go on from others are compressed from where they differ, and each can be read by itself."""

from __future__ import annotations

import random
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.store.sqlite import compression
from clew.store.sqlite.compression import HistoryCompressor, compress
from tests.counts import examples

WORDS = [b"parse ", b"the ", b"buffer ", b"because ", b"holds "]


def said(size: int, seed: int = 1) -> bytes:
    chance = random.Random(seed)
    return b"".join(chance.choices(WORDS, k=size // 5))[:size]


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 9), st.integers(0, 3)), min_size=1, max_size=12))
def test_whatever_went_before_a_body_comes_back_as_it_was(talk: list[tuple[str, int, int]]) -> None:
    """Longer, shorter, forked, or another one altogether; small ones between."""
    compressor = HistoryCompressor(2 * 400_000)
    for key, length, tail in talk:
        body = said(length * 8000) + said(tail * 10_000, seed=2 + tail)
        assert zlib.decompress(compressor.compress((key,), body)) == body


class Counted:
    """A compressor that notes how many bytes it was given, and so do its copies."""

    def __init__(self, own: object, given: list[int]) -> None:
        self.own, self.given = own, given

    def compress(self, data: memoryview) -> bytes:
        self.given.append(len(data))
        return self.own.compress(data)

    def copy(self) -> Counted:
        return Counted(self.own.copy(), self.given)

    def flush(self) -> bytes:
        return self.own.flush()


def test_a_body_that_goes_on_costs_what_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second is the first to be known by heart; from then on nothing is compressed that was before."""
    given: list[int] = []
    plain, whole = zlib.compressobj, said(300_000)
    monkeypatch.setattr(zlib, "compressobj", lambda level: Counted(plain(level), given))
    compressor = HistoryCompressor()
    streams = [compressor.compress(("a",), whole[:size] + b"}") for size in range(100_000, 300_000, 10_000)]
    assert (sum(given[:4]), sum(given[4:])) == (100_001 + 110_001, 18 * (10_000 + 10_001))
    assert len(streams[-1]) < 1.01 * len(compress(whole[:290_000]))


def test_what_is_kept_is_bounded_and_the_longest_silent_goes_first() -> None:
    compressor, body = HistoryCompressor(3 * 500_000), said(100_000)
    for key in ("a", "b", "c", "a", "d"):
        compressor.compress((key,), body)
    assert ([*compressor._positions], compressor._weight <= 3 * 500_000) == ([("c",), ("a",), ("d",)], True)


def test_a_small_body_is_not_kept() -> None:
    compressor, body = HistoryCompressor(), said(compression.LEAST - 1)
    assert (compressor.compress(("a",), body), [*compressor._positions]) == (compress(body), [])


def test_a_very_large_body_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor the one before it: the next body goes on from neither."""
    monkeypatch.setattr(compression, "LARGEST", 100_000)
    compressor, body = HistoryCompressor(), said(100_001)
    compressor.compress(("a",), body[:-1])
    assert (compressor.compress(("a",), body), compressor._weight, [*compressor._positions]) == (compress(body), 0, [])
