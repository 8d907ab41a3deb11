"""Partitions: bodies by day, usage by month. They are made before they are needed, and dropped as a whole.

A row for which there is no partition goes into the default one, where it is deleted by itself.

To make or to drop a partition, PostgreSQL needs the whole table for a moment. Where somebody reads it for long, as a backup
does, all turns would wait behind the one who waits for that moment. So nobody waits: it is tried again in the next round.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import psycopg

from clew.store.postgres.database import PostgresDatabase
from clew.store.values import DAY

_AHEAD_DAYS: Final = 2
_AHEAD_MONTHS: Final = 2
_LOCK_WAIT: Final = "50ms"
_NOT_NOW: Final = (
    psycopg.errors.LockNotAvailable,
    psycopg.errors.CheckViolation,  # rows of that time are in the default partition already, and stay there
    psycopg.errors.DuplicateTable,  # another gateway was first
    psycopg.errors.UniqueViolation,
)
_PARTITIONS: Final = """
SELECT child.relname FROM pg_inherits JOIN pg_class AS child ON child.oid = inhrelid
WHERE inhparent = to_regclass($1) AND child.relname ~ '_[0-9]+$' ORDER BY 1
"""


def make_partitions(database: PostgresDatabase, now: float) -> None:
    """Those of the next days and months, as far as they are not there."""
    day = int(now // DAY)
    for table in ("bodies", "pieces"):
        there = set(_names(database, table))
        for number in range(day, day + _AHEAD_DAYS):
            _make(database, table, f"{table}_{number}", number, number + 1, there)
    there = set(_names(database, "usage"))
    moment = datetime.fromtimestamp(now, UTC)
    months = [moment.year * 12 + moment.month - 1 + number for number in range(_AHEAD_MONTHS)]
    for month in months:
        _make(database, "usage", f"usage_{_name(month)}", _start(month), _start(month + 1), there)


def oldest_day(database: PostgresDatabase, before: float) -> list[str]:
    """The tables of bodies and their pieces of the oldest of the days that ended before this time; none if there is no such
    day."""
    last = int(before // DAY) if before > 0 else 0
    names = [name for table in ("bodies", "pieces") for name in _names(database, table)]
    days = {day for name in names if (day := int(name.rpartition("_")[2])) < last}
    return [name for name in names if days and name.endswith(f"_{min(days)}")]


def oldest_month(database: PostgresDatabase, before: float) -> list[str]:
    """The table of usage of the oldest of the months that ended before this time."""
    return [name for name in _names(database, "usage") if _end(name.rpartition("_")[2]) <= before][:1]


def drop(database: PostgresDatabase, names: list[str]) -> bool:
    """False if they cannot be dropped now."""
    return _change(database, f"DROP TABLE {', '.join(f'clew.{name}' for name in names)}")


def _names(database: PostgresDatabase, table: str) -> list[str]:
    return [str(name) for (name,) in database.rows(_PARTITIONS, f"clew.{table}")]


def _make(database: PostgresDatabase, table: str, name: str, start: float, end: float, there: set[str]) -> None:
    if name in there:
        return
    bounds = f"FROM ({start}) TO ({end})"
    _change(database, f"CREATE TABLE IF NOT EXISTS clew.{name} PARTITION OF clew.{table} FOR VALUES {bounds}")


def _change(database: PostgresDatabase, statement: str) -> bool:
    """False if it cannot be done now."""
    try:
        with database.connection.transaction():
            limit = f"SET LOCAL lock_timeout = '{_LOCK_WAIT}'"
            database.run_script(f"{limit}; {statement}; SET LOCAL lock_timeout TO DEFAULT")
    except _NOT_NOW:
        return False
    return True


def _start(month: int) -> float:
    return datetime(month // 12, month % 12 + 1, 1, tzinfo=UTC).timestamp()


def _name(month: int) -> str:
    return f"{month // 12}{month % 12 + 1:02}"


def _end(name: str) -> float:
    return _start(int(name[:4]) * 12 + int(name[4:]))
