"""Times, cache and thinking of one principal's requests: by backend and model, and as plots by day.

The store has them as long as it keeps the exchanges themselves, so they may go back less far than what was used.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta

from msgspec import Struct

from clew.model.turn import TokenUsage
from clew.store.values import DayAnswers, Days, DayUsage
from clew.web.filters import brief, duration, percent
from clew.web.plots import Plot, Series, bars, lines
from clew.web.rows import cache_share

FEW_DAYS = 3
"""With fewer days a plot says less than the table."""


class TimesRow(Struct, frozen=True, kw_only=True):
    """A group of requests: how many, their tokens, and how long the answers took."""

    backend: str
    model: str = ""
    day: str = ""
    calls: int
    usage: TokenUsage
    asked: int
    whole: int
    thought: int
    first_byte: tuple[float, ...]
    seconds: tuple[float, ...]

    @property
    def cached(self) -> float | None:
        return cache_share(self.usage)

    @property
    def thinking(self) -> float | None:
        """The share of the complete answers that thought."""
        return min(1.0, self.thought / self.whole) if self.whole else None

    def quantile(self, share: float) -> float | None:
        """Seconds to the first content, at this share of the answers."""
        return percentile(self.first_byte, share)

    def total(self, share: float) -> float | None:
        """Seconds to the end of the answer, at this share of them."""
        return percentile(self.seconds, share)


def midnight_before(days: int, today: date) -> float:
    """The beginning of the first of so many local days."""
    return time.mktime(time.strptime(dates(days, today)[0], "%Y-%m-%d"))


def dates(days: int, today: date) -> tuple[str, ...]:
    """So many days up to today, as the store names them."""
    return tuple((today - timedelta(days=back)).isoformat() for back in range(days - 1, -1, -1))


def percentile(ordered: Sequence[float], share: float) -> float | None:
    """The nearest rank; None of nothing."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


def by_backend_and_model(days: Days) -> list[TimesRow]:
    """A row for each backend and model, the most used first."""
    rows = _rows(days, lambda each: (each.backend, each.model, ""))
    return sorted(rows, key=lambda row: -max(row.calls, row.asked))


def plots_of(days: Days, shown: Sequence[str]) -> list[Plot]:
    """By day and backend; none where there are only a few days."""
    by_day = {(each.backend, each.day): each for each in _rows(days, lambda it: (it.backend, "", it.day))}
    if len({day for _, day in by_day}) < FEW_DAYS:
        return []
    names = sorted({backend for backend, _ in by_day})

    def series(value: Callable[[TimesRow], float | None], suffix: str = "", dashed: bool = False) -> list[Series]:
        return [_series(by_day, shown, colour, name, value, suffix, dashed) for colour, name in enumerate(names)]

    quantiles = [*series(lambda it: it.quantile(0.5), " p50"), *series(lambda it: it.quantile(0.9), " p90", dashed=True)]
    return [
        lines("Time to the first byte", shown, quantiles, duration, note="solid: median, dashed: 90th percentile"),
        lines("Prompt from the cache", shown, series(lambda it: it.cached), percent, top=1.0),
        lines("Answers that thought", shown, series(lambda it: it.thinking), percent, top=1.0),
        bars("Requests per day", shown, series(lambda it: max(it.calls, it.asked)), brief, least=1.0),
    ]


def _series(
    by_day: Mapping[tuple[str, str], TimesRow],
    shown: Sequence[str],
    colour: int,
    name: str,
    value: Callable[[TimesRow], float | None],
    suffix: str,
    dashed: bool,
) -> Series:
    found = (by_day.get((name, day)) for day in shown)
    values = tuple(value(row) if row else None for row in found)
    return Series(name=f"{name}{suffix}", colour=colour, values=values, dashed=dashed, legend=name)


def _rows(days: Days, key: Callable[[DayUsage | DayAnswers], tuple[str, str, str]]) -> list[TimesRow]:
    """Grouped by backend, model and day, as the key says."""
    spent: defaultdict[tuple[str, str, str], list[DayUsage]] = defaultdict(list)
    answers: defaultdict[tuple[str, str, str], list[DayAnswers]] = defaultdict(list)
    for each in days.spent:
        spent[key(each)].append(each)
    for each in days.answers:
        answers[key(each)].append(each)
    return [_row(name, spent[name], answers[name]) for name in dict.fromkeys([*spent, *answers])]


def _row(name: tuple[str, str, str], spent: Sequence[DayUsage], answers: Sequence[DayAnswers]) -> TimesRow:
    backend, model, day = name
    usages = [each.usage for each in spent]
    return TimesRow(
        backend=backend,
        model=model,
        day=day,
        calls=sum(each.calls for each in spent),
        usage=TokenUsage(
            input=sum(each.input for each in usages),
            output=sum(each.output for each in usages),
            cache_read=sum(each.cache_read for each in usages),
            cache_written=sum(each.cache_written for each in usages),
        ),
        asked=sum(each.asked for each in answers),
        whole=sum(each.whole for each in answers),
        thought=sum(each.thought for each in answers),
        first_byte=tuple(sorted(second for each in answers for second in each.first_byte)),
        seconds=tuple(sorted(second for each in answers for second in each.seconds)),
    )
