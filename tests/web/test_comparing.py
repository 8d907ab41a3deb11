"""Which lines belong together: whatever it may cost, all of both sides is there, in order, and nothing twice."""

from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.web import difference
from clew.web.difference import LineRun, compare_lines
from tests.counts import examples

LINES = st.lists(st.integers(0, 12).map(str), max_size=40)


@pytest.mark.parametrize("work", [0, 50, 500, 1_000_000])
def test_both_sides_are_whole_however_little_it_may_cost(work: int) -> None:
    @given(LINES, LINES)
    @settings(max_examples=examples(24, soak=1200), deadline=None)
    def holds(a: list[str], b: list[str]) -> None:
        with mock.patch.object(difference, "_MOST_WORK", work):
            found = compare_lines(a, b)
        assert [line for run in found.runs for line in (*run.same, *run.gone)] == a
        assert [line for run in found.runs for line in (*run.same, *run.new)] == b

    holds()


def test_lines_that_are_there_once_hold_two_texts_together() -> None:
    """As many as stand in the same order: what moved is gone in one place and new in another."""
    with mock.patch.object(difference, "_MOST_WORK", 0):
        found = compare_lines(list("a12345b"), list("c14235d"))
    told = [f"{sign}{line}" for run in found.runs for sign, part in zip("=-+", run, strict=True) for line in part]
    assert told == ["-a", "+c", "=1", "+4", "=2", "=3", "-4", "=5", "-b", "+d"]


def test_what_is_the_same_costs_nothing() -> None:
    with mock.patch.object(difference, "_MOST_WORK", 0):
        found = compare_lines(list("abc"), list("abc"))
    assert (found.runs[0], found.rough) == (LineRun(same=list("abc")), False)
