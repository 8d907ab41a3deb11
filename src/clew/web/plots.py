"""Plots as plain geometry: bars that stand on each other, and lines; one value for each series and day. Templates draw SVG.

Colours are classes, so that both themes have their own. Every mark has a text, and a reader who cannot see the plot has the
table below it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from math import floor, log10
from typing import Final

from msgspec import Struct, structs

WIDTH: Final = 520.0
HEIGHT: Final = 190.0
LEFT, RIGHT, TOP, BOTTOM = 50.0, 6.0, 8.0, 26.0
_COLOURS: Final = 8
_LABELS: Final = 6
_TICKS: Final = 4
_HALF_LABEL: Final = 20.0
_NOTHING: Final = 1e-9

Shown = Callable[[float], str]


class Series(Struct, frozen=True, kw_only=True):
    """One value for each day; None where there is none. `colour` counts from 0."""

    name: str
    colour: int
    values: tuple[float | None, ...]
    dashed: bool = False
    legend: str = ""
    """Its name there, if it is another one."""


class Rect(Struct, frozen=True):
    x: float
    y: float
    width: float
    height: float
    colour: str
    says: str


class PlotLine(Struct, frozen=True):
    d: str
    colour: str
    dashed: bool


class Dot(Struct, frozen=True):
    x: float
    y: float
    colour: str
    says: str


class Label(Struct, frozen=True):
    at: float
    text: str


class Plot(Struct, frozen=True, kw_only=True):
    """Ready to be drawn in a box of `width` by `height`."""

    title: str
    days: tuple[Label, ...]
    ticks: tuple[Label, ...]
    legend: tuple[tuple[str, str], ...]
    """Colours and names."""
    note: str = ""
    """What the legend does not say."""
    rects: tuple[Rect, ...] = ()
    lines: tuple[PlotLine, ...] = ()
    dots: tuple[Dot, ...] = ()
    width: float = WIDTH
    height: float = HEIGHT
    left: float = LEFT
    right: float = WIDTH - RIGHT
    floor: float = HEIGHT - BOTTOM

    @property
    def is_empty(self) -> bool:
        return not (self.rects or self.dots)


def bars(title: str, days: Sequence[str], series: Sequence[Series], shown: Shown, *, least: float = 0.0) -> Plot:
    """Each day's values on top of each other. `least` is the least step of the axis: 1 for what is counted."""
    totals = [sum(value or 0.0 for value in of_day) for of_day in zip(*(each.values for each in series), strict=True)]
    top = _top(totals, least)
    slot = _slot(days)
    rects: list[Rect] = []
    for place, day in enumerate(days):
        base = 0.0
        for each in series:
            if value := each.values[place]:
                upper = _y(base + value, top)
                bar = (round(LEFT + place * slot + slot * 0.12, 2), upper, round(slot * 0.76, 2))
                rects.append(Rect(*bar, round(_y(base, top) - upper, 2), _colour(each), _says(each, day, value, shown)))
                base += value
    return structs.replace(_frame(title, days, series, top, shown, least), rects=tuple(rects))


def lines(
    title: str, days: Sequence[str], series: Sequence[Series], shown: Shown, *, top: float | None = None, note: str = ""
) -> Plot:
    """A line for each series, broken where a day has no value."""
    top = top or _top(value for each in series for value in each.values if value is not None)
    slot = _slot(days)
    paths: list[PlotLine] = []
    dots: list[Dot] = []
    for each in series:
        points = [
            None if value is None else (round(LEFT + (place + 0.5) * slot, 2), _y(value, top))
            for place, value in enumerate(each.values)
        ]
        # Straight from day to day; a gap stays one.
        steps = [f"M{a[0]} {a[1]}L{b[0]} {b[1]}" for a, b in pairwise(points) if a is not None and b is not None]
        paths.append(PlotLine("".join(steps), _colour(each), each.dashed))
        dots += [
            Dot(*point, _colour(each), _says(each, day, value, shown))
            for point, day, value in zip(points, days, each.values, strict=True)
            if point is not None and value is not None
        ]
    drawn = tuple(path for path in paths if path.d)
    return structs.replace(_frame(title, days, series, top, shown), lines=drawn, dots=tuple(dots), note=note)


def _frame(title: str, days: Sequence[str], series: Sequence[Series], top: float, shown: Shown, least: float = 0.0) -> Plot:
    """The plot with its axes and its legend, and nothing drawn yet."""
    every = max(1, -(-len(days) // _LABELS))  # a label for a few of the days, without the year
    step = _step(top, least)
    ticks = [step * number for number in range(round(top / step) + 1)]
    return Plot(
        title=title,
        days=tuple(Label(_middle(at, days), _short(days[at])) for at in range(0, len(days), every)),
        ticks=tuple(Label(_y(value, top), shown(value)) for value in ticks),
        legend=tuple(dict.fromkeys((_colour(each), each.legend or each.name) for each in series if any(each.values))),
    )


def _middle(at: int, days: Sequence[str]) -> float:
    """Where a day's label stands; the last one stays inside the picture."""
    return round(min(LEFT + (at + 0.5) * _slot(days), WIDTH - _HALF_LABEL), 2)


def _short(day: str) -> str:
    """A day without its year, an hour without its day."""
    return day.partition("T")[2] or day[5:]


def _slot(days: Sequence[str]) -> float:
    """The width that a day has in a plot."""
    return (WIDTH - LEFT - RIGHT) / max(1, len(days))


def _y(value: float, top: float) -> float:
    return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * min(value, top) / top, 2)


def _top(values: Iterable[float], least: float = 0.0) -> float:
    """The end of the axis: the first round number that holds them all."""
    most = max(values, default=0.0)
    most = most if most > _NOTHING else 1.0
    step = _step(most, least)
    return step * -(-most // step)


def _step(most: float, least: float) -> float:
    size = 10.0 ** floor(log10(most / _TICKS))
    return max(least, next(factor * size for factor in (1, 2, 5, 10) if factor * size * _TICKS >= most))


def _colour(series: Series) -> str:
    return f"s{series.colour % _COLOURS + 1}"


def _says(series: Series, day: str, value: float, shown: Shown) -> str:
    return f"{day} {series.name}: {shown(value)}"
