"""Tokens of a text that comes piece by piece."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from clew.model.tokens import TokenTally, tokens_of


def tallied(*pieces: str) -> int:
    tally = TokenTally()
    for piece in pieces:
        tally.add(piece)
    return tally.total()


@given(st.text(max_size=40).map(lambda text: text * 100), st.lists(st.integers(0, 4000), max_size=9))
def test_how_the_pieces_were_cut_makes_no_difference(text: str, cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(text)]
    assert tallied(*(text[start:end] for start, end in pairwise(places))) == tallied(text)


def test_a_long_text_has_about_as_many_as_in_one_piece() -> None:
    text = "The quick brown fox jumps over the lazy dog. " * 1000
    assert abs(tallied(*text.split("fox")) + 1000 - tokens_of(text.encode())) < 100


def test_nothing_has_none_and_something_has_at_least_one() -> None:
    assert (tallied(), tallied(""), tallied(" ")) == (0, 0, 1)
