"""What was used, added up for a page: for each backend and model, and for each backend and day. Prices are put on here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from time import mktime, strptime
from typing import Final

from msgspec import Struct

from clew.backends.row import Backend
from clew.chat.prices import Cost, cost_of, total_cost
from clew.store.reports import DayAnswers, Days, DayUsage
from clew.store.values import TokenUsage
from clew.web.exchange_row import cache_share

__all__ = ["Total", "by_backend_and_model", "by_day", "dates", "percentile", "totals"]

_NOTHING: Final = TokenUsage()
_REMEMBERED: Final = 20_000
_UNKNOWN: Final = Cost(Decimal(-1))


class Total(Struct, frozen=True, kw_only=True):
    """What some calls came to. `cost` is None where no price is known."""

    backend: str
    model: str = ""
    day: str = ""
    calls: int
    usage: TokenUsage
    cost: Cost | None
    asked: int
    whole: int
    thought: int
    first_byte: tuple[float, ...]
    seconds: tuple[float, ...]

    @property
    def prompt(self) -> int:
        return self.usage.input + self.usage.cache_read + self.usage.cache_written

    @property
    def tokens(self) -> int:
        return self.prompt + self.usage.output

    @property
    def cached(self) -> float | None:
        return cache_share(self.usage)

    @property
    def thinking(self) -> float | None:
        """Of the answers that came to their end, how many thought."""
        return min(1.0, self.thought / self.whole) if self.whole else None

    def quantile(self, share: float) -> float | None:
        """Seconds to the first content, at this share of the answers."""
        return percentile(self.first_byte, share)


def percentile(ordered: Sequence[float], share: float) -> float | None:
    """The nearest rank; None of nothing."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


def by_backend_and_model(days: Days, backends: Mapping[str, Backend]) -> list[Total]:
    """The most used first."""
    found = totals(days, backends, lambda each: (each.backend, each.model, ""))
    return sorted(found.values(), key=lambda total: -total.tokens)


def by_day(days: Days, backends: Mapping[str, Backend]) -> dict[tuple[str, str], Total]:
    """Under (backend, day)."""
    found = totals(days, backends, lambda each: (each.backend, "", each.day))
    return {(total.backend, total.day): total for total in found.values()}


def totals(
    days: Days, backends: Mapping[str, Backend], key: Callable[[DayUsage | DayAnswers], tuple[str, str, str]]
) -> dict[tuple[str, str, str], Total]:
    """Grouped by backend, model and day, as the key says."""
    spent: defaultdict[tuple[str, str, str], list[DayUsage]] = defaultdict(list)
    answers: defaultdict[tuple[str, str, str], list[DayAnswers]] = defaultdict(list)
    for each in days.spent:
        spent[key(each)].append(each)
    for each in days.answers:
        answers[key(each)].append(each)
    names = dict.fromkeys([*spent, *answers])
    return {name: _total(name, spent[name], answers[name], backends) for name in names}


def _total(
    name: tuple[str, str, str], spent: list[DayUsage], answers: list[DayAnswers], backends: Mapping[str, Backend]
) -> Total:
    backend, model, day = name
    return Total(
        backend=backend,
        model=model,
        day=day,
        calls=sum(each.calls for each in spent),
        usage=_sum(each.usage for each in spent),
        cost=total_cost(_cost(each, backends.get(each.backend)) for each in spent) if spent else None,
        asked=sum(each.asked for each in answers),
        whole=sum(each.whole for each in answers),
        thought=sum(each.thought for each in answers),
        first_byte=tuple(sorted(second for each in answers for second in each.first_byte)),
        seconds=tuple(sorted(second for each in answers for second in each.seconds)),
    )


def _sum(usages: Iterable[TokenUsage]) -> TokenUsage:
    total = _NOTHING
    for each in usages:
        total = TokenUsage(
            input=total.input + each.input,
            output=total.output + each.output,
            cache_read=total.cache_read + each.cache_read,
            cache_written=total.cache_written + each.cache_written,
            estimated=total.estimated or each.estimated,
        )
    return total


_costs: dict[tuple[DayUsage, tuple[str, str, str]], Cost | None] = {}
"""A day that is over costs the same whenever somebody looks, and pricing is slow."""


def _cost(spent: DayUsage, backend: Backend | None) -> Cost | None:
    key = (spent, (backend.url, backend.preset, backend.realm) if backend else ("", "", ""))
    known = _costs.get(key, _UNKNOWN)
    if known is not _UNKNOWN:
        return known
    if len(_costs) >= _REMEMBERED:
        _costs.clear()
    cost = _costs[key] = _priced(spent, backend)
    return cost


def _priced(spent: DayUsage, backend: Backend | None) -> Cost | None:
    """Of one call as long as these are on average, times how many there are: within a group the price is the same."""
    usage, calls = spent.usage, spent.calls
    average = TokenUsage(
        input=usage.input // calls,
        output=usage.output // calls,
        cache_read=usage.cache_read // calls,
        cache_written=usage.cache_written // calls,
    )
    noon = mktime(strptime(f"{spent.day} 12", "%Y-%m-%d %H"))
    cost = cost_of(spent.model, average, backend=backend, complete=not usage.estimated, at=noon)
    return Cost(cost.usd * Decimal(calls), cost.estimated) if cost else None


def dates(days: int, today: date) -> tuple[str, ...]:
    """So many days up to today, as the store names them."""
    return tuple((today - timedelta(days=back)).isoformat() for back in range(days - 1, -1, -1))
