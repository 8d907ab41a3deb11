"""Usage as it is asked for and shown: fields and times as people type them, and lines as JSON and CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final

from msgspec import Struct

from clew.errors import SettingsInvalid
from clew.limits.limit import MICRO
from clew.limits.usage import USAGE_FIELDS, UsageField, UsageLine
from clew.limits.windows import DAY, HOUR

LONGEST: Final = 366 * DAY
_FIELDS: Final[Mapping[str, UsageField]] = {name: name for name in USAGE_FIELDS}
_SPANS: Final[Mapping[str, int]] = {"h": HOUR, "d": DAY, "w": 7 * DAY}
_SPAN: Final = re.compile(r"(\d{1,4})([hdw])")
_CSV_COLUMNS: Final = (
    *("calls", "input", "output", "cache_read", "cache_written", "thinking", "counts_estimated"),
    *("usd", "usd_estimated", "calls_without_price"),
)
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


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
