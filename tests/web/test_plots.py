"""Plots as geometry: inside their box, round numbers on the axis, a gap where a day has no value."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.web.plots import HEIGHT, LEFT, RIGHT, TOP, WIDTH, Series, bars, lines
from tests.counts import examples

DAYS = ("2026-11-14", "2026-11-15", "2026-11-16")


def series(*values: float | None, name: str = "a", colour: int = 0) -> Series:
    return Series(name=name, colour=colour, values=values)


def test_bars_stand_on_each_other_and_say_what_they_are() -> None:
    plot = bars("Tokens", DAYS, [series(10, None, 30), series(30, 0, 10, name="b", colour=9)], "{:g}".format)
    first, second, third, fourth = plot.rects
    assert (first.y + first.height, second.y + second.height) == (plot.floor, first.y)
    assert (first.colour, second.colour) == ("s1", "s2")
    assert [each.says for each in (first, fourth)] == ["2026-11-14 a: 10", "2026-11-16 b: 10"]
    assert first.x == second.x < third.x
    assert [tick.text for tick in plot.ticks] == ["0", "10", "20", "30", "40"]
    assert plot.legend == (("s1", "a"), ("s2", "b"))


@pytest.mark.parametrize(
    ("most", "ticks"), [(1, ["0", "1"]), (2, ["0", "1", "2"]), (3, ["0", "1", "2", "3"]), (7, ["0", "2", "4", "6", "8"])]
)
def test_an_axis_of_what_is_counted_has_whole_numbers_each_once(most: int, ticks: list[str]) -> None:
    plot = bars("Requests", DAYS, [series(None, 1, most)], "{:.0f}".format, least=1.0)
    assert [tick.text for tick in plot.ticks] == ticks


def test_a_day_without_a_value_breaks_the_line() -> None:
    plot = lines("Share", (*DAYS, "2026-11-17"), [series(0.5, None, 0.25, 1.0)], "{:g}".format, top=1.0)
    (line,) = plot.lines
    assert line.d.count("M") == line.d.count("L") == 1
    assert len(plot.dots) == 3


def test_the_legend_has_each_name_once_and_says_nothing_of_what_is_not_there() -> None:
    """Two lines of one backend are one entry; nine backends have eight colours."""
    both = [Series(name=name, colour=0, values=(1.0, None, None), legend="a") for name in ("a p50", "a p90")]
    plot = lines(
        "Time", DAYS, [*both, series(None, None, None, name="b"), series(1, 2, 3, name="c", colour=8)], str, note="n"
    )
    assert (plot.legend, plot.note) == ((("s1", "a"), ("s1", "c")), "n")


def test_a_plot_of_nothing_is_empty() -> None:
    assert bars("Tokens", DAYS, [series(None, 0, None)], str).is_empty
    assert lines("Share", DAYS, [], str).is_empty


@pytest.mark.slow
@given(st.lists(st.one_of(st.none(), st.floats(0, 1e12)), min_size=1, max_size=400))
@settings(max_examples=examples(24, soak=1200), deadline=None)
def test_whatever_is_drawn_stays_in_its_box(values: list[float | None]) -> None:
    days = [f"2026-01-{number:03}" for number in range(len(values))]
    for plot in (bars("x", days, [series(*values)], str), lines("x", days, [series(*values)], str)):
        ys = [each.y for each in (*plot.rects, *plot.dots)] + [tick.at for tick in plot.ticks]
        xs = [each.x for each in (*plot.rects, *plot.dots)] + [day.at for day in plot.days]
        assert all(TOP <= y <= HEIGHT for y in ys)
        assert all(LEFT <= x <= WIDTH - RIGHT for x in xs)
        assert len(plot.days) <= 6
        assert 2 <= len(plot.ticks) <= 6
