"""Limits and what was counted, in a store of any kind.

`spent` has a row for each scope, window and process, and a turn adds to the row of its own process, in its own transaction.
So sums are exact, a turn that is sent again counts once, and no gateway waits for another. A total is the sum over all
processes.

A hard limit is kept by reservations. A reservation locks the scopes, in one order, adds up what is used and what is
reserved, and adds a row if there is room. The row goes with the turn that it was made for, or with the process that made it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Final

from msgspec import Struct, convert

from clew.limits.ledger import CountedWindow, Overrun, WindowTotal
from clew.limits.limit import Amounts, Limit, read_scope, window_at
from clew.store.audit_table import AuditEntry, add_entry
from clew.store.rows import Row
from clew.store.table_access import TableConnection, TableRunner

_LIMITS: Final = "SELECT scope, unit, seconds, cap, hard, made, made_by FROM clew.limits ORDER BY scope, unit, seconds"
_SET: Final = """
INSERT INTO clew.limits (scope, unit, seconds, cap, hard, made, made_by) VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (scope, unit, seconds) DO UPDATE SET cap = excluded.cap, hard = excluded.hard, made = excluded.made,
    made_by = excluded.made_by
"""
_REMOVE: Final = "DELETE FROM clew.limits WHERE scope = $1 AND unit = $2 AND seconds = $3"
_IS_COUNTED: Final = "SELECT 1 FROM clew.limits WHERE scope = $1 AND seconds = $2"
_SUMS: Final = (
    "CAST(coalesce(sum(micro_usd), 0) AS bigint), CAST(coalesce(sum(tokens), 0) AS bigint), "
    "CAST(coalesce(sum(requests), 0) AS bigint)"
)
_TOTALS: Final = f"""
SELECT scope, seconds, start, shard = $2, {_SUMS} FROM clew.spent WHERE start + seconds > $1
GROUP BY scope, seconds, start, shard = $2
"""  # noqa: S608  (constants)
_SPENT: Final = f"SELECT {_SUMS} FROM clew.spent WHERE scope = $1 AND seconds = $2 AND start = $3"  # noqa: S608  (constants)
_RESERVED: Final = f"SELECT {_SUMS} FROM clew.reservations WHERE scope = $1 AND seconds = $2 AND start = $3"  # noqa: S608  (constants)
_RESERVE: Final = """
INSERT INTO clew.reservations (exchange, scope, seconds, start, process, micro_usd, tokens, requests)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING
"""
_RELEASE: Final = "DELETE FROM clew.reservations WHERE exchange = $1"
_HOLDERS: Final = "SELECT DISTINCT process FROM clew.reservations WHERE scope = $1"
_LAPSED: Final = "DELETE FROM clew.reservations WHERE process = $1"
_COUNT: Final = """
INSERT INTO clew.spent (scope, seconds, start, shard, micro_usd, tokens, requests) VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (scope, seconds, start, shard) DO UPDATE SET micro_usd = excluded.micro_usd, tokens = excluded.tokens,
    requests = excluded.requests
"""
_USAGE: Final = """
SELECT CAST(coalesce(sum(micro_usd), 0) AS bigint),
    CAST(coalesce(sum(input + output + cache_read + cache_written), 0) AS bigint), count(*)
FROM clew.usage WHERE at >= CAST($1 AS float8) AND {whose}
"""
_WHOSE: Final = {
    "key": "key_name = $2",
    "principal": "principal = $2",
    "team": "team_name = $2",
}
_OLD: Final = "DELETE FROM clew.spent WHERE start + seconds < $1"
_KEPT_SECONDS: Final = 86_400
"""How long the sums of a window are kept after its end. Usage has them for longer."""
_BEFORE: Final = "before"
"""The shard of what was used before a window was counted."""


class ReservationRequest(Struct, frozen=True, kw_only=True):
    """Room in hard limits that an exchange wants: the most that it can use."""

    exchange: str
    limits: tuple[Limit, ...]
    most: Amounts
    at: float


class LimitTables:
    """The limits of a store. Reads wait, writes give a future."""

    def __init__(self, access: TableRunner) -> None:
        self._access = access

    def all(self) -> tuple[Limit, ...]:
        return self._access.read(_read_limits)

    def set(self, limit: Limit) -> Future[None]:
        """Add a limit, or change the cap of one. A window that was not counted so far begins with what was used in it."""
        return self._access.write(lambda on: _set(on, limit), tells=True)

    def remove(self, limit: Limit, *, at: float, by: str) -> Future[bool]:
        """False if there is none with this scope, unit and window."""
        return self._access.write(lambda on: _remove(on, limit, at, by), tells=True)

    def totals(self, now: float) -> Mapping[CountedWindow, WindowTotal]:
        """What was used in the windows that are not over."""
        shard = self._access.shard
        return self._access.read(lambda on: _totals(on.rows(_TOTALS, now, shard)))

    def reserve(self, wanted: ReservationRequest) -> Future[Overrun | None]:
        """Reserve, in all of these limits or in none. Says which one has no room."""
        self._access.hold_lease()
        return self._access.write(lambda on: _reserve(on, wanted))

    def release(self, exchange: str) -> Future[int]:
        """Give back what an exchange reserved, where its turn is not kept."""
        return self._access.write(lambda on: on.run(_RELEASE, exchange))

    def tidy(self, now: float) -> Future[int]:
        """Delete the sums of windows that were over long ago."""
        return self._access.write(lambda on: on.run(_OLD, now - _KEPT_SECONDS))


def _read_limits(on: TableConnection) -> tuple[Limit, ...]:
    names = ("scope", "unit", "seconds", "cap", "hard", "made", "made_by")
    rows = [dict(zip(names, row, strict=True)) for row in on.rows(_LIMITS)]
    return convert([row | {"scope": read_scope(str(row["scope"]))} for row in rows], tuple[Limit, ...], strict=False)


def _set(on: TableConnection, limit: Limit) -> None:
    scope, window = str(limit.scope), window_at(limit.made, limit.seconds or 1)
    if limit.is_budget and not on.rows(_IS_COUNTED, scope, limit.seconds):
        (used,) = on.rows(_USAGE.format(whose=_WHOSE[limit.scope.kind]), window.start, limit.scope.name)
        on.run(_COUNT, scope, limit.seconds, window.start, _BEFORE, *used)
    old = _same(_read_limits(on), limit)
    before, who = _told(old) if old else "", limit.made_by
    add_entry(on, AuditEntry(at=limit.made, who=who, what="limit set", target=scope, before=before, after=_told(limit)))
    on.run(_SET, scope, limit.unit, limit.seconds, limit.cap, int(limit.hard), limit.made, limit.made_by)


def _remove(on: TableConnection, limit: Limit, at: float, by: str) -> bool:
    old = _same(_read_limits(on), limit)
    if old is None:
        return False
    on.run(_REMOVE, str(limit.scope), limit.unit, limit.seconds)
    add_entry(on, AuditEntry(at=at, who=by, what="limit removed", target=str(limit.scope), before=_told(old)))
    return True


def _same(limits: Sequence[Limit], wanted: Limit) -> Limit | None:
    named = (wanted.scope, wanted.unit, wanted.seconds)
    return next((limit for limit in limits if (limit.scope, limit.unit, limit.seconds) == named), None)


def _told(limit: Limit) -> str:
    return f"{limit.amount}{' hard' if limit.hard else ''}"


def _totals(rows: Sequence[Row]) -> dict[CountedWindow, WindowTotal]:
    found: dict[CountedWindow, WindowTotal] = {}
    for scope, seconds, start, is_own, *sums in convert(rows, list[tuple[str, int, int, bool, int, int, int]], strict=False):
        counted, used = CountedWindow(scope, seconds, start), Amounts(*sums)
        known = found.get(counted, WindowTotal())
        found[counted] = known._replace(own=used) if is_own else known._replace(others=used)
    return found


def _reserve(on: TableConnection, wanted: ReservationRequest) -> Overrun | None:
    for scope in sorted({str(limit.scope) for limit in wanted.limits}):  # in one order: nobody waits in a circle
        on.lock(scope)
        for (process,) in on.rows(_HOLDERS, scope):
            if not on.is_alive(str(process)):
                on.run(_LAPSED, process)
    for limit in wanted.limits:
        window = window_at(wanted.at, limit.seconds)
        counted = (str(limit.scope), limit.seconds, window.start)
        used = sum(_sums(on, statement, counted).of(limit.unit) for statement in (_SPENT, _RESERVED))
        if used + wanted.most.of(limit.unit) > limit.cap:
            return Overrun(limit=limit, used=used, wait=window.end - wanted.at, wanted=wanted.most.of(limit.unit))
    process = on.process()
    for scope, seconds in {(str(limit.scope), limit.seconds) for limit in wanted.limits}:
        start = window_at(wanted.at, seconds).start
        on.run(_RESERVE, wanted.exchange, scope, seconds, start, process, *wanted.most)
    return None


def _sums(on: TableConnection, statement: str, counted: tuple[str, int, int]) -> Amounts:
    (row,) = on.rows(statement, *counted)
    return convert(row, Amounts, strict=False)
