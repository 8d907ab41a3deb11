"""The page Usage: calls, tokens and cost of the last day, week, month or year, by any name that a call has.

A line leads to what it is made of: a key to its models, a principal to its threads. Beside a key, a principal and a team
stand the limits that hold for it. Days are in UTC, as the windows of limits are; hours are shown in the machine's time.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Final
from urllib.parse import urlencode

from msgspec import Struct, structs
from starlette.requests import Request
from starlette.responses import Response

from clew.admin.limits import lines_of
from clew.admin.problems import AdminProblem
from clew.admin.services import AdminServices
from clew.limits.keys import LOCAL
from clew.limits.limit import MICRO
from clew.limits.usage import FILTERS, NAMELESS, UsageField, UsageLine, UsageQuery, total_line
from clew.store import Store
from clew.web.filters import brief
from clew.web.frame import address, page
from clew.web.plots import Plot, Series, bars
from clew.web.rows import LimitLine, cache_share, limit_lines
from clew.web.usage_times import by_backend_and_model, dates, midnight_before, plots_of

PERIODS: Final[Mapping[str, tuple[int, str]]] = {
    "24h": (1, "24 hours"),
    "7d": (7, "7 days"),
    "30d": (30, "30 days"),
    "365d": (365, "a year"),
}
"""Days and words, by what the address says."""
USUAL: Final = "30d"
MOST_LINES: Final = 100
_NAMED: Final = 6
"""Names with a colour of their own in a plot; the rest is one more."""
_OTHERS: Final = "all others"
_LEAST_SLOTS: Final = 2
_HOURS: Final = 24
_LONG: Final = 100
"""Days from which on a bar is a week."""
SHOWN_FIELDS: Final[tuple[UsageField, ...]] = ("backend", "model", "key", "principal", "team", "thread", "agent", "client")
_NEXT: Final[Mapping[UsageField, UsageField]] = {"team": "key", "key": "model", "principal": "thread", "backend": "model"}
"""What a line is made of, if it is asked for."""


class UsageChoice(Struct, frozen=True, kw_only=True):
    """What the page is about; the state of its address."""

    since: str = USUAL
    by: UsageField = "backend"
    only: Mapping[UsageField, str] = {}

    @property
    def address(self) -> str:
        return _with_query(("usage",), self.since, self.by, self.only)

    def changed(self, *, since: str = "", by: UsageField | None = None) -> str:
        return structs.replace(self, since=since or self.since, by=by or self.by).address

    def without(self, field: UsageField) -> str:
        only = {name: value for name, value in self.only.items() if name != field}
        return structs.replace(self, only=only).address

    def inside(self, name: str) -> str:
        """The address of the page with the parts that a line is the sum of."""
        return structs.replace(self, by=_NEXT.get(self.by, "model"), only={**self.only, self.by: name}).address

    @property
    def csv(self) -> str:
        """The same with a line for each day, as a file."""
        by = f"{self.by},{'hour' if self.days == 1 else 'day'}"
        return f"{_with_query(('api', 'usage'), self.since, by, self.only)}&format=csv"

    @property
    def days(self) -> int:
        return PERIODS[self.since][0]


class ShownLine(Struct, frozen=True, kw_only=True):
    """A line of the table. `share` is of the cost where all prices are known, else of the tokens."""

    label: str
    line: UsageLine
    cached: float | None
    share: float
    inside: str
    """Where it leads to; "" for nowhere."""
    limits: tuple[LimitLine, ...] = ()


def _with_query(path: Sequence[str], since: str, by: str, only: Mapping[UsageField, str]) -> str:
    """Empty names stay: they are the gateway's own key, or no team."""
    return f"{address(*path)}?{urlencode({'since': since, 'by': by, **only})}"


async def page_usage(services: AdminServices, request: Request) -> Response:
    chosen = choice_of(request)

    def values() -> dict[str, object]:
        """Reads the store."""
        now = time.time()
        by: tuple[UsageField, ...] = ("thread", "principal") if chosen.by == "thread" else (chosen.by,)
        query = UsageQuery(by=by, since=now - chosen.days * 86_400.0, until=now, only=chosen.only)
        lines, limits = lines_of(services, query), limit_lines(services.store)
        days = services.kept.days(_owner(chosen), since=midnight_before(chosen.days, date.today()))
        return {
            "lines": _shown(services.kept, chosen, lines[:MOST_LINES], total_line(lines), limits),
            "left_out": lines[MOST_LINES:],
            "sum": total_line(lines),
            "cached": cache_share(total_line(lines).usage),
            "plots": _plots(services, query, chosen),
            "times": by_backend_and_model(days),
            "times_of": _owner(chosen),
            "times_plots": plots_of(days, dates(chosen.days, date.today())),
            "limits": limits,
        }

    frame = {"chosen": chosen, "periods": PERIODS, "fields": SHOWN_FIELDS, "none": NAMELESS}
    return page(services, request, "usage.html", {**await services.read(values), **frame})


def choice_of(request: Request) -> UsageChoice:
    """Raises AdminProblem for a period or a field that there is not."""
    query = request.query_params
    since, by = query.get("since", USUAL), query.get("by", "backend")
    if since not in PERIODS:
        raise AdminProblem(400, "since cannot be used", f"it is one of {', '.join(PERIODS)}")
    fields: Mapping[str, UsageField] = {each: each for each in FILTERS}
    field = fields.get(by)
    if field is None:
        raise AdminProblem(400, "by cannot be used", f"it is one of {', '.join(FILTERS)}")
    return UsageChoice(since=since, by=field, only={each: query[each] for each in FILTERS if each in query})


def _owner(chosen: UsageChoice) -> str:
    return chosen.only.get("principal", LOCAL)


def _shown(
    store: Store, chosen: UsageChoice, lines: Sequence[UsageLine], total: UsageLine, limits: Sequence[LimitLine]
) -> list[ShownLine]:
    priced = not total.unpriced and bool(total.micro_usd)
    whole = (total.micro_usd if priced else _tokens(total)) or 1
    return [
        ShownLine(
            label=_label(store, chosen.by, line.names),
            line=line,
            cached=cache_share(line.usage),
            share=((line.micro_usd or 0) if priced else _tokens(line)) / whole,
            inside=_inside(chosen, line.names),
            limits=tuple(each for each in limits if str(each.limit.scope) == f"{chosen.by}:{line.names[0]}"),
        )
        for line in lines
    ]


def _label(store: Store, by: UsageField, names: Sequence[str]) -> str:
    """For people. `names` are a thread and its owner, or one name."""
    if by == "thread" and names[0]:
        found = store.thread(names[1], names[0])
        return found.title or names[0] if found else names[0]
    return names[0] or NAMELESS.get(by, "unknown")


def _inside(chosen: UsageChoice, names: Sequence[str]) -> str:
    if chosen.by == "thread":
        return address("threads", names[0], owner=names[1]) if names[0] else ""
    return chosen.inside(names[0])


def _tokens(line: UsageLine) -> int:
    return line.usage.prompt + line.usage.output


# Plots


def _plots(services: AdminServices, query: UsageQuery, chosen: UsageChoice) -> list[Plot]:
    """Tokens and cost over time; none where all is in one hour, or in one day."""
    unit: UsageField = "hour" if chosen.days == 1 else "day"
    lines = lines_of(services, structs.replace(query, by=(*query.by, unit)))
    slots = slots_of(chosen.days, query.until)
    if len({slot_of(line.names[-1], chosen.days) for line in lines}) < _LEAST_SLOTS:
        return []
    names = _largest(lines)
    labels = {name: _label(services.kept, chosen.by, name) for name in names}
    span = "hour" if chosen.days == 1 else "week" if chosen.days > _LONG else "day"

    def drawn(title: str, value: Callable[[UsageLine], float], shown: Callable[[float], str], least: float) -> Plot:
        sums: defaultdict[tuple[str, str], float] = defaultdict(float)
        for line in lines:
            sums[labels.get(line.names[:-1], _OTHERS), slot_of(line.names[-1], chosen.days)] += value(line)
        series = [
            Series(name=name, colour=colour, values=tuple(sums.get((name, slot)) for slot in slots))
            for colour, name in enumerate(dict.fromkeys([*labels.values(), _OTHERS]))
        ]
        return bars(f"{title} per {span}", slots, series, shown, least=least)

    return [
        drawn("Tokens", _tokens, brief, 1.0),
        drawn("Cost", lambda line: (line.micro_usd or 0) / MICRO, lambda usd: f"${usd:.3g}", 0.0),
    ]


def _largest(lines: Iterable[UsageLine]) -> list[tuple[str, ...]]:
    """The names with the most tokens, in the order of the alphabet: so each keeps its colour."""
    tokens: defaultdict[tuple[str, ...], int] = defaultdict(int)
    for line in lines:
        tokens[line.names[:-1]] += _tokens(line)
    return sorted(sorted(tokens, key=lambda names: -tokens[names])[:_NAMED])


def slots_of(days: int, until: float) -> tuple[str, ...]:
    """The bars of a plot, as `slot_of` names them."""
    if days == 1:
        hours = (until - back * 3600.0 for back in range(_HOURS, -1, -1))
        return tuple(dict.fromkeys(slot_of(datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H"), days) for at in hours))
    today = datetime.fromtimestamp(until, UTC).date()
    names = (slot_of((today - timedelta(days=back)).isoformat(), days) for back in range(days, -1, -1))
    return tuple(dict.fromkeys(names))


def slot_of(name: str, days: int) -> str:
    """The bar for an hour or a day in UTC: an hour in the machine's time, a day, or the Monday of its week.

    >>> slot_of("2026-11-18", 30), slot_of("2026-11-18", 365)
    ('2026-11-18', '2026-11-16')
    """
    if days == 1:
        at = datetime.strptime(name, "%Y-%m-%dT%H").replace(tzinfo=UTC)
        return at.astimezone().strftime("%Y-%m-%dT%H:%M")
    day = date.fromisoformat(name)
    return (day - timedelta(days=day.weekday()) if days > _LONG else day).isoformat()
