"""Usage and what it cost, by whatever names a call: key, principal, team, thread, sub-agent, client,
backend, model, day, hour.

A call's price was kept with it where a limit on money held: those prices are the very numbers that the limit counted, and
are added up as they are. Other calls are priced by the list when somebody asks, and that is marked as an estimate. Days and
hours are in UTC, as the windows of limits are, so that they are the same on every gateway.

It is asked for with fields and times as people type them, and shown as lines of JSON or CSV.
"""

from __future__ import annotations

import csv
import io
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Final, Literal, TypeAlias, get_args

from msgspec import Struct

from clew.backends.prices import PricedCounts, known_range
from clew.backends.row import Backend
from clew.errors import SettingsInvalid
from clew.limits.limit import DAY, HOUR, MICRO, micro_usd, rounded_dollars
from clew.model.turn import TokenUsage

UsageField: TypeAlias = Literal["key", "principal", "team", "thread", "agent", "client", "backend", "model", "day", "hour"]
USAGE_FIELDS: Final[tuple[UsageField, ...]] = get_args(UsageField)
FILTERS: Final = USAGE_FIELDS[:8]
"""By these a report can be narrowed down."""


class UsageQuery(Struct, frozen=True, kw_only=True):
    """What is added up: calls that ended from `since` up to, and without, `until`."""

    by: tuple[UsageField, ...] = ()
    since: float
    until: float
    only: Mapping[UsageField, str] = {}
    """The calls of this key, principal, … alone."""


class UsageGroup(Struct, frozen=True, kw_only=True):
    """Calls that a store added up: those of one price, as far as that can be said."""

    names: tuple[str, ...]
    """The values of `UsageQuery.by`."""
    backend: str
    model: str
    calls: int
    usage: TokenUsage
    """Its `micro_usd` is None for calls whose price was not kept."""
    at: float
    """When the last of them ended."""


class UsageLine(Struct, frozen=True, kw_only=True):
    """One line of a report. `micro_usd` are millionths of a dollar; None where no price is known."""

    names: tuple[str, ...]
    calls: int
    usage: TokenUsage
    micro_usd: int | None
    is_estimated: bool
    """Some of the price was not kept with its call, or some of the counts are estimates."""
    unpriced: int
    """Calls that no price is known for; they are not part of the cost."""

    @property
    def cost(self) -> str:
        """The cost as text; "?" if it is not known."""
        if self.micro_usd is None:
            return "?"
        return f"{'≈' if self.is_estimated or self.unpriced else ''}{rounded_dollars(self.micro_usd)}"


def usage_lines(query: UsageQuery, groups: Iterable[UsageGroup], backends: Mapping[str, Backend]) -> list[UsageLine]:
    """A line for each combination of names: in the order of time where that is one of them, else the largest cost first."""
    found: defaultdict[tuple[str, ...], list[UsageGroup]] = defaultdict(list)
    for group in groups:
        found[group.names].append(group)
    lines = [_line(names, found[names], backends) for names in sorted(found)]
    times = [at for at, field in enumerate(query.by) if field in ("day", "hour")]
    if times:
        return sorted(lines, key=lambda line: [line.names[at] for at in times])
    return sorted(lines, key=lambda line: (-(line.micro_usd or 0), -line.usage.prompt - line.usage.output))


def total_line(lines: Sequence[UsageLine]) -> UsageLine:
    """The sum of all lines."""
    known = [line.micro_usd for line in lines if line.micro_usd is not None]
    return UsageLine(
        names=(),
        calls=sum(line.calls for line in lines),
        usage=_sum(line.usage for line in lines),
        micro_usd=sum(known) if known else None,
        is_estimated=any(line.is_estimated for line in lines),
        unpriced=sum(line.unpriced for line in lines),
    )


def _line(names: tuple[str, ...], groups: Sequence[UsageGroup], backends: Mapping[str, Backend]) -> UsageLine:
    prices = [(group, *_price(group, backends.get(group.backend))) for group in groups]
    known = [micro for _, micro, _ in prices if micro is not None]
    return UsageLine(
        names=names,
        calls=sum(group.calls for group in groups),
        usage=_sum(group.usage for group in groups),
        micro_usd=sum(known) if known else None,
        is_estimated=any(is_estimated for _, _, is_estimated in prices),
        unpriced=sum(group.calls for group, micro, _ in prices if micro is None),
    )


def _sum(usages: Iterable[TokenUsage]) -> TokenUsage:
    each = [*usages]
    thinking = [one.thinking for one in each if one.thinking is not None]
    return TokenUsage(
        input=sum(one.input for one in each),
        output=sum(one.output for one in each),
        cache_read=sum(one.cache_read for one in each),
        cache_written=sum(one.cache_written for one in each),
        estimated=any(one.estimated for one in each),
        thinking=sum(thinking) if thinking else None,
    )


def _price(group: UsageGroup, backend: Backend | None) -> tuple[int | None, bool]:
    """Millionths of a dollar, None if no price is known; and whether that is an estimate."""
    if group.usage.micro_usd is not None:
        return group.usage.micro_usd, group.usage.estimated
    if backend is None:
        return None, False
    usage, calls = group.usage, group.calls
    average = PricedCounts(
        fresh=usage.input // calls,
        output=usage.output // calls,
        read=usage.cache_read // calls,
        written=usage.cache_written // calls,
    )
    usd = _list_price(group.model, average, group.at, backend.url, backend.preset, backend.realm)
    return (None, False) if usd is None else (micro_usd(usd * calls), True)


@lru_cache(maxsize=20_000)
def _list_price(model: str, counts: PricedCounts, at: float, url: str, preset: str, realm: str) -> Decimal | None:
    """US dollars for one call. Working it out is slow, and the calls of a day that is over stay as they are."""
    found = known_range(model, counts, Backend(name="", url=url, preset=preset, realm=realm), at)
    return found[0] if found else None


LONGEST: Final = 366 * DAY
_FIELDS: Final[Mapping[str, UsageField]] = {name: name for name in USAGE_FIELDS}
_SPANS: Final[Mapping[str, int]] = {"h": HOUR, "d": DAY, "w": 7 * DAY}
_SPAN: Final = re.compile(r"(\d{1,4})([hdw])")
_CSV_COLUMNS: Final = (
    *("calls", "input", "output", "cache_read", "cache_written", "thinking", "counts_estimated"),
    *("usd", "usd_estimated", "calls_without_price"),
)
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


NAMELESS: Final[Mapping[UsageField, str]] = {
    "key": "the gateway's own key",
    "team": "no team",
    "thread": "deleted threads",
    "agent": "no sub-agent",
    "client": "not known",
}
"""What calls without such a name are listed as."""


class UsageEntry(Struct, frozen=True, kw_only=True):
    """A line as JSON. `names` has a value for each field of `by`. Money is in millionths of a dollar; None: no price is
    known."""

    names: dict[str, str]
    calls: int
    input: int
    output: int
    cache_read: int
    cache_written: int
    thinking: int | None
    counts_estimated: bool
    micro_usd: int | None
    usd_estimated: bool
    """The price of some calls was not kept with them, so it was worked out from the list now."""
    calls_without_price: int


def read_fields(text: str) -> tuple[UsageField, ...]:
    """`key,day`: what a report is grouped by. Raises SettingsInvalid.

    >>> read_fields("key, day")
    ('key', 'day')
    """
    found: dict[UsageField, None] = {}
    for name in filter(None, (part.strip() for part in text.split(","))):
        if name not in _FIELDS:
            raise SettingsInvalid(f"usage cannot be grouped by {name!r}: name some of {', '.join(USAGE_FIELDS)}", key="by")
        found[_FIELDS[name]] = None
    return tuple(found)


def read_since(text: str, now: float) -> float:
    """`24h`, `7d`, `4w`, or a day such as `2026-11-01` (in UTC). Raises SettingsInvalid.

    >>> read_since("24h", 1_800_000_000.0)
    1799913600.0
    """
    if found := _SPAN.fullmatch(text.strip()):
        since = now - int(found[1]) * _SPANS[found[2]]
    else:
        try:
            since = datetime.strptime(text.strip(), "%Y-%m-%d").replace(tzinfo=UTC).timestamp()
        except ValueError:
            raise SettingsInvalid(
                f"{text!r} is not a time: use 24h, 7d, 4w or a day such as 2026-11-01", key="since"
            ) from None
    if not now - LONGEST <= since <= now:
        raise SettingsInvalid(f"{text!r}: the time must be within the last year, and not in the future", key="since")
    return since


def usage_entry(by: Sequence[UsageField], line: UsageLine) -> UsageEntry:
    usage = line.usage
    return UsageEntry(
        names=dict(zip(by, line.names, strict=True)),
        calls=line.calls,
        input=usage.input,
        output=usage.output,
        cache_read=usage.cache_read,
        cache_written=usage.cache_written,
        thinking=usage.thinking,
        counts_estimated=usage.estimated,
        micro_usd=line.micro_usd,
        usd_estimated=line.is_estimated,
        calls_without_price=line.unpriced,
    )


def usage_csv(by: Sequence[UsageField], lines: Iterable[UsageLine]) -> str:
    """A head and a row for each line; money in dollars."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow((*by, *_CSV_COLUMNS))
    for line in lines:
        usage = line.usage
        counts = (usage.input, usage.output, usage.cache_read, usage.cache_written)
        thinking = "" if usage.thinking is None else usage.thinking
        usd = "" if line.micro_usd is None else f"{Decimal(line.micro_usd) / MICRO:f}"
        # A name that a spreadsheet would take for a formula is quoted.
        names = [f"'{name}" if name[:1] in _FORMULA else name for name in line.names]
        writer.writerow(
            (*names, line.calls, *counts, thinking, int(usage.estimated), usd, int(line.is_estimated), line.unpriced)
        )
    return out.getvalue()
