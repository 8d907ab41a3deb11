"""What was used, added up in groups, in a store of any kind.

Prices rise with the length of a prompt, so calls of very different lengths are counted apart (`PROMPT_STEPS`); so are calls
whose price was kept and those whose price was not, and calls of different days, or months where no day is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final, TypeAlias

from msgspec import convert

from clew.limits.limit import DAY, HOUR
from clew.limits.usage import UsageField, UsageGroup, UsageQuery
from clew.model.turn import TokenUsage
from clew.store.days import PROMPT_STEPS
from clew.store.rows import Row
from clew.store.table_access import TableConnection, TableRunner

_COLUMNS: Final[Mapping[UsageField, str]] = {
    "key": "key_name",
    "principal": "principal",
    "team": "team_name",
    "thread": "thread_id",
    "agent": "agent_id",
    "client": "client_name",
    "backend": "backend",
    "model": "model",
}
_SLOT: Final = "CAST(floor(at / {seconds}) AS bigint)"
_STEP: Final = " + ".join(f"CAST(input + cache_read + cache_written > {step} AS integer)" for step in PROMPT_STEPS)
_SUMS: Final = ", ".join(
    f"CAST(sum({name}) AS bigint)" for name in ("input", "output", "cache_read", "cache_written", "thinking", "micro_usd")
)
_Rest: TypeAlias = tuple[int, int, bool, int, int, int, int, int, int | None, int | None, int, float]
"""What follows the names in a row."""
_GROUPS: Final = """
SELECT {names}, {slot} AS slot, {step} AS step, micro_usd IS NULL AS unpriced, count(*), {sums}, max(estimated), max(at)
FROM clew.usage WHERE at >= CAST($1 AS float8) AND at < CAST($2 AS float8) {only}
GROUP BY {names}, slot, step, unpriced
"""


class UsageTable:
    """Of all principals: what one caller may see of it, the caller's `only` says."""

    def __init__(self, access: TableRunner) -> None:
        self._access = access

    def groups(self, query: UsageQuery) -> list[UsageGroup]:
        """In no order. A year of a million calls takes about a second."""
        return self._access.read(lambda on: _groups(on, query))


def _groups(on: TableConnection, query: UsageQuery) -> list[UsageGroup]:
    fields = [_COLUMNS[each] for each in query.by if each in _COLUMNS]
    seconds = HOUR if "hour" in query.by else DAY if "day" in query.by else 30 * DAY
    names = dict.fromkeys([*fields, "backend", "model"])
    only = "".join(f" AND {_COLUMNS[each]} = ${number}" for number, each in enumerate(query.only, start=3))
    slot, wanted = _SLOT.format(seconds=seconds), query.only.values()
    statement = _GROUPS.format(names=", ".join(names), slot=slot, step=_STEP, sums=_SUMS, only=only)
    rows = on.rows(statement, query.since, query.until, *wanted)
    return [_group(query, dict(zip(names, row, strict=False)), row[len(names) :], seconds) for row in rows]


def _group(query: UsageQuery, named: Mapping[str, object], rest: Row, seconds: int) -> UsageGroup:
    slot, _, _, calls, input, output, read, written, thinking, micro, estimated, at = convert(rest, _Rest, strict=False)
    return UsageGroup(
        names=tuple(_name(each, named, slot * seconds) for each in query.by),
        backend=str(named["backend"]),
        model=str(named["model"]),
        calls=calls,
        usage=TokenUsage(
            input=input,
            output=output,
            cache_read=read,
            cache_written=written,
            estimated=bool(estimated),
            thinking=thinking,
            micro_usd=micro,
        ),
        at=at,
    )


def _name(field: UsageField, named: Mapping[str, object], at: int) -> str:
    if column := _COLUMNS.get(field):
        return str(named[column])
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d" if field == "day" else "%Y-%m-%dT%H")
