"""Partitions: bodies by day, usage by month. They are made before they are needed, and dropped as a whole.

A row for which there is no partition goes into the default one, where it is deleted by itself.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import psycopg

from clew.store.postgres.database import PostgresDatabase
from clew.store.values import DAY

_AHEAD_DAYS: Final = 2
_AHEAD_MONTHS: Final = 2
_THERE: Final = (
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


def drop_days(database: PostgresDatabase, before: float) -> None:
    """Drop the bodies of the days that ended before this time."""
    last = int(before // DAY) if before > 0 else 0
    names = [name for table in ("bodies", "pieces") for name in _names(database, table)]
    old = [name for name in names if int(name.rpartition("_")[2]) < last]
    for name in old:
        database.run_script(f"DROP TABLE clew.{name}")


def drop_months(database: PostgresDatabase, before: float) -> None:
    """Drop the usage of the months that ended before this time."""
    for name in _names(database, "usage"):
        if _end(name.rpartition("_")[2]) <= before:
            database.run_script(f"DROP TABLE clew.{name}")


def _names(database: PostgresDatabase, table: str) -> list[str]:
    return [str(name) for (name,) in database.rows(_PARTITIONS, f"clew.{table}")]


def _make(database: PostgresDatabase, table: str, name: str, start: float, end: float, there: set[str]) -> None:
    if name in there:
        return
    try:
        with database.connection.transaction():
            database.run_script(
                f"CREATE TABLE IF NOT EXISTS clew.{name} PARTITION OF clew.{table} FOR VALUES FROM ({start}) TO ({end})"
            )
    except _THERE:
        return


def _start(month: int) -> float:
    return datetime(month // 12, month % 12 + 1, 1, tzinfo=UTC).timestamp()


def _name(month: int) -> str:
    return f"{month // 12}{month % 12 + 1:02}"


def _end(name: str) -> float:
    return _start(int(name[:4]) * 12 + int(name[4:]))
