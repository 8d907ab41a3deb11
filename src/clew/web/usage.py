"""Usage: tokens, cost, cache efficiency, times and thinking, for each backend and day; as plots, as a table, as CSV.

The store has what was used each day; it is added up here, and priced.
"""

from __future__ import annotations

import csv
import io
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Final

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from clew.admin.parameters import AdminProblem, principal
from clew.admin.services import AdminServices, principals_of
from clew.backends.row import Backend
from clew.chat.prices import Cost, cost_of, total_cost
from clew.model.turn import TokenUsage
from clew.store.values import DayAnswers, Days, DayUsage
from clew.web.exchange_row import cache_share
from clew.web.filters import brief, duration, percent
from clew.web.frame import page
from clew.web.plots import Plot, Series, bars, lines

PERIODS: Final = (7, 30, 90, 365)
COLUMNS: Final = (
    *("day", "backend", "model", "calls", "input", "output", "cache_read", "cache_written", "counts_estimated"),
    *("usd", "usd_estimated", "asked", "whole", "thought", "first_byte_p50", "first_byte_p90", "first_byte_p99"),
)


_MOST_COSTS: Final = 20_000
_costs: dict[tuple[DayUsage, tuple[str, str, str]], Cost | None] = {}
"""A day that is over costs the same whenever somebody looks, and pricing is slow."""


class UsageRow(Struct, frozen=True, kw_only=True):
    """The usage of some calls. `cost` is None where no price is known."""

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
        return self.usage.prompt

    @property
    def tokens(self) -> int:
        return self.prompt + self.usage.output

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


# The page


async def page_usage(services: AdminServices, request: Request) -> Response:
    period, owner = _period(request), principal(request)
    backends = services.current.snapshot.settings.backends

    def values() -> dict[str, object]:
        days = _read_days(services, owner, period)
        rows = by_backend_and_model(days, backends)
        by_day = {(each.backend, each.day): each for each in _totals(days, backends, lambda it: (it.backend, "", it.day))}
        return {
            "rows": rows,
            "requests": sum(max(row.calls, row.asked) for row in rows),
            "sum": next(iter(_totals(days, backends, lambda it: ("", "", ""))), None),
            "plots": _plots(by_day, dates(period, date.today())),
        }

    frame = {"period": period, "periods": PERIODS, "owner": owner, "principals": principals_of(services.home)}
    return page(services, request, "usage.html", {**await services.read(values), **frame})


async def usage_csv(services: AdminServices, request: Request) -> Response:
    """A line for each day, backend and model."""
    period, owner = _period(request), principal(request)
    backends = services.current.snapshot.settings.backends
    text = await services.read(lambda: _csv(_read_days(services, owner, period), backends))
    name = f"clew-usage-{date.today().isoformat()}-{period}-days.csv"
    return Response(text, media_type="text/csv", headers={"content-disposition": f'attachment; filename="{name}"'})


def _period(request: Request) -> int:
    text = request.query_params.get("days", "30")
    period = next((each for each in PERIODS if str(each) == text), None)
    if period is None:
        raise AdminProblem(400, "days cannot be used", f"it is one of {', '.join(map(str, PERIODS))}")
    return period


def _read_days(services: AdminServices, owner: str, period: int) -> Days:
    """What was used in the last `period` days, from the beginning of the first of them."""
    midnight = time.mktime(time.strptime(dates(period, date.today())[0], "%Y-%m-%d"))
    return services.kept.days(owner, since=midnight)


def _plots(by_day: Mapping[tuple[str, str], UsageRow], days: Sequence[str]) -> list[Plot]:
    names = sorted({backend for backend, _ in by_day})

    def series(value: Callable[[UsageRow], float | None], suffix: str = "", dashed: bool = False) -> list[Series]:
        return [
            Series(
                name=f"{name}{suffix}",
                colour=colour,
                values=tuple(value(total) if (total := by_day.get((name, day))) else None for day in days),
                dashed=dashed,
                legend=name,
            )
            for colour, name in enumerate(names)
        ]

    def dollars(amount: float) -> str:
        return f"${amount:.3g}"

    quantiles = [*series(lambda it: it.quantile(0.5), " p50"), *series(lambda it: it.quantile(0.9), " p90", dashed=True)]
    return [
        bars("Tokens per day", days, series(lambda it: it.tokens), brief, least=1.0),
        bars("Cost per day", days, series(lambda it: float(it.cost.usd) if it.cost else None), dollars),
        lines("Prompt from the cache", days, series(lambda it: it.cached), percent, top=1.0),
        lines("Time to the first byte", days, quantiles, duration, note="solid: median, dashed: 90th percentile"),
        lines("Answers that thought", days, series(lambda it: it.thinking), percent, top=1.0),
        bars("Requests per day", days, series(lambda it: max(it.calls, it.asked)), brief, least=1.0),
    ]


def _csv(days: Days, backends: Mapping[str, Backend]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    totals = _totals(days, backends, lambda each: (each.backend, each.model, each.day))
    for total in sorted(totals, key=lambda each: (each.day, each.backend, each.model)):
        usage, cost = total.usage, total.cost
        line: tuple[object, ...] = (
            *(total.day, total.backend, total.model, total.calls, usage.input, usage.output),
            *(usage.cache_read, usage.cache_written, usage.estimated),
            *((cost.usd, cost.estimated) if cost else ("", "")),
            *(total.asked, total.whole, total.thought),
            *(total.quantile(share) for share in (0.5, 0.9, 0.99)),
        )
        writer.writerow(
            # A name that a spreadsheet would take for a formula is quoted.
            f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value
            for value in line
        )
    return out.getvalue()


# Adding up


def dates(days: int, today: date) -> tuple[str, ...]:
    """So many days up to today, as the store names them."""
    return tuple((today - timedelta(days=back)).isoformat() for back in range(days - 1, -1, -1))


def percentile(ordered: Sequence[float], share: float) -> float | None:
    """The nearest rank; None of nothing."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


def by_backend_and_model(days: Days, backends: Mapping[str, Backend]) -> list[UsageRow]:
    """The most used first."""
    totals = _totals(days, backends, lambda each: (each.backend, each.model, ""))
    return sorted(totals, key=lambda total: -total.tokens)


def _totals(
    days: Days, backends: Mapping[str, Backend], key: Callable[[DayUsage | DayAnswers], tuple[str, str, str]]
) -> list[UsageRow]:
    """Grouped by backend, model and day, as the key says."""
    spent: defaultdict[tuple[str, str, str], list[DayUsage]] = defaultdict(list)
    answers: defaultdict[tuple[str, str, str], list[DayAnswers]] = defaultdict(list)
    for each in days.spent:
        spent[key(each)].append(each)
    for each in days.answers:
        answers[key(each)].append(each)
    return [_total(name, spent[name], answers[name], backends) for name in dict.fromkeys([*spent, *answers])]


def _total(
    name: tuple[str, str, str], spent: list[DayUsage], answers: list[DayAnswers], backends: Mapping[str, Backend]
) -> UsageRow:
    backend, model, day = name
    usages = [each.usage for each in spent]
    return UsageRow(
        backend=backend,
        model=model,
        day=day,
        calls=sum(each.calls for each in spent),
        usage=TokenUsage(
            input=sum(each.input for each in usages),
            output=sum(each.output for each in usages),
            cache_read=sum(each.cache_read for each in usages),
            cache_written=sum(each.cache_written for each in usages),
            estimated=any(each.estimated for each in usages),
        ),
        cost=total_cost(_cost(each, backends.get(each.backend)) for each in spent) if spent else None,
        asked=sum(each.asked for each in answers),
        whole=sum(each.whole for each in answers),
        thought=sum(each.thought for each in answers),
        first_byte=tuple(sorted(second for each in answers for second in each.first_byte)),
        seconds=tuple(sorted(second for each in answers for second in each.seconds)),
    )


def _cost(spent: DayUsage, backend: Backend | None) -> Cost | None:
    """The cost of one call of average length, times the calls: within a group the price is the same."""
    key = (spent, (backend.url, backend.preset, backend.realm) if backend else ("", "", ""))
    if key in _costs:
        return _costs[key]
    if len(_costs) >= _MOST_COSTS:
        _costs.clear()
    usage, calls = spent.usage, spent.calls
    average = TokenUsage(
        input=usage.input // calls,
        output=usage.output // calls,
        cache_read=usage.cache_read // calls,
        cache_written=usage.cache_written // calls,
    )
    noon = time.mktime(time.strptime(f"{spent.day} 12", "%Y-%m-%d %H"))
    cost = cost_of(spent.model, average, backend=backend, complete=not usage.estimated, at=noon)
    _costs[key] = Cost(cost.usd * Decimal(calls), cost.estimated) if cost else None
    return _costs[key]
