"""Usage: tokens, cost, cache efficiency, times and thinking, for each backend and day; as plots, as a table, as CSV."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Final

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from clew.admin.desk import Desk, principals_of
from clew.admin.parameters import principal
from clew.admin.problem import Problem
from clew.backends.row import Backend
from clew.chat.prices import total_cost
from clew.store.reports import Days
from clew.web.frame import page
from clew.web.plots import Plot, Series, bars, lines
from clew.web.shown import brief, duration, percent
from clew.web.used import Total, by_backend_and_model, by_day, dates, totals

__all__ = ["page_usage", "usage_csv"]

PERIODS: Final = (7, 30, 90, 365)
COLUMNS: Final = (
    *("day", "backend", "model", "calls", "input", "output", "cache_read", "cache_written", "counts_estimated"),
    *("usd", "usd_estimated", "asked", "whole", "thought", "first_byte_p50", "first_byte_p90", "first_byte_p99"),
)


class Sum(Struct, frozen=True):
    """The whole period in a few numbers."""

    calls: int
    prompt: int
    output: int
    cached: float | None
    usd: float | None
    estimated: bool
    thinking: float | None


async def page_usage(desk: Desk, request: Request) -> Response:
    period, owner = _period(request), principal(request)
    values = await desk.read(lambda: _values(desk, owner, period))
    frame = {"period": period, "periods": PERIODS, "owner": owner, "principals": principals_of(desk.home)}
    return page(desk, request, "usage.html", {**values, **frame})


def _period(request: Request) -> int:
    text = request.query_params.get("days", "30")
    period = next((each for each in PERIODS if str(each) == text), None)
    if period is None:
        raise Problem(400, "days cannot be used", f"it is one of {', '.join(map(str, PERIODS))}")
    return period


def _values(desk: Desk, owner: str, period: int) -> dict[str, object]:
    backends, days = desk.current.snapshot.settings.backends, _days(desk, owner, period)
    rows = by_backend_and_model(days, backends)
    found = by_day(days, backends)
    names = sorted({backend for backend, _ in found})
    return {"rows": rows, "sum": _sum(rows), "plots": _plots(found, names, dates(period, date.today()))}


def _days(desk: Desk, owner: str, period: int) -> Days:
    """What was used in the last `period` days, from the beginning of the first of them."""
    midnight = time.mktime(time.strptime(dates(period, date.today())[0], "%Y-%m-%d"))
    return desk.kept.days(owner, since=midnight)


def _sum(rows: Sequence[Total]) -> Sum:
    prompt, read = sum(row.prompt for row in rows), sum(row.usage.cache_read for row in rows)
    whole, cost = sum(row.whole for row in rows), total_cost(row.cost for row in rows if row.calls)
    return Sum(
        calls=sum(max(row.calls, row.asked) for row in rows),
        prompt=prompt,
        output=sum(row.usage.output for row in rows),
        cached=read / prompt if prompt else None,
        usd=float(cost.usd) if cost else None,
        estimated=cost.estimated if cost else False,
        thinking=min(1.0, sum(row.thought for row in rows) / whole) if whole else None,
    )


def _plots(found: Mapping[tuple[str, str], Total], names: Sequence[str], days: Sequence[str]) -> list[Plot]:
    def series(value: Callable[[Total], float | None], suffix: str = "", dashed: bool = False) -> list[Series]:
        return [
            Series(
                name=f"{name}{suffix}",
                colour=colour,
                values=tuple(value(total) if (total := found.get((name, day))) else None for day in days),
                dashed=dashed,
                legend=name,
            )
            for colour, name in enumerate(names)
        ]

    quantiles = [*series(lambda it: it.quantile(0.5), " p50"), *series(lambda it: it.quantile(0.9), " p90", dashed=True)]
    return [
        bars("Tokens per day", days, series(lambda it: it.tokens), brief, least=1.0),
        bars("Cost per day", days, series(lambda it: float(it.cost.usd) if it.cost else None), _dollars),
        lines("Prompt from the cache", days, series(lambda it: it.cached), percent, top=1.0),
        lines("Time to the first byte", days, quantiles, duration, note="solid: median, dashed: 90th percentile"),
        lines("Answers that thought", days, series(lambda it: it.thinking), percent, top=1.0),
        bars("Requests per day", days, series(lambda it: max(it.calls, it.asked)), brief, least=1.0),
    ]


def _dollars(amount: float) -> str:
    """Short, for an axis."""
    return f"${amount:.3g}"


async def usage_csv(desk: Desk, request: Request) -> Response:
    """For each day, backend and model a line."""
    period, owner = _period(request), principal(request)
    text = await desk.read(lambda: _csv(_days(desk, owner, period), desk.current.snapshot.settings.backends))
    name = f"clew-usage-{date.today().isoformat()}-{period}-days.csv"
    return Response(text, media_type="text/csv", headers={"content-disposition": f'attachment; filename="{name}"'})


def _csv(days: Days, backends: Mapping[str, Backend]) -> str:
    out = io.StringIO()
    write = csv.writer(out, lineterminator="\r\n")
    write.writerow(COLUMNS)
    found = totals(days, backends, lambda each: (each.backend, each.model, each.day))
    for total in sorted(found.values(), key=lambda each: (each.day, each.backend, each.model)):
        write.writerow(map(_cell, _line(total)))
    return out.getvalue()


def _line(total: Total) -> tuple[object, ...]:
    usage, cost = total.usage, total.cost
    return (
        *(total.day, total.backend, total.model, total.calls, usage.input, usage.output),
        *(usage.cache_read, usage.cache_written, usage.estimated),
        *((cost.usd, cost.estimated) if cost else ("", "")),
        *(total.asked, total.whole, total.thought),
        *(total.quantile(share) for share in (0.5, 0.9, 0.99)),
    )


def _cell(value: object) -> object:
    """A name that a spreadsheet would take for a formula is only a name."""
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value
