"""The tables of a store in PostgreSQL, row by row, for a move from or to another store."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from typing import Any, Final

import msgspec
import psycopg

from clew.store.moving import NOT_MOVED, SETTINGS, MovedTable, as_value, now
from clew.store.postgres.database import PostgresDatabase, describe_url, raising_store_errors
from clew.store.postgres.parameters import clean_text
from clew.store.postgres.partitions import make_partitions
from clew.store.postgres.schema import migrate
from clew.store.rows import COLUMNS, Row, Value, sum_of

_COLUMNS: Final = """
SELECT relname, attname, format_type(atttypid, NULL), attidentity <> ''::"char"
FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE nspname = 'clew' AND relkind IN ('r', 'p') AND NOT relispartition AND attnum > 0 AND NOT attisdropped
ORDER BY 1, attnum
"""
_KEY: Final = """
SELECT attname FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY (indkey)
WHERE indrelid = to_regclass($1) AND indisprimary ORDER BY array_position(indkey::int2[], attnum)
"""
_OTHERS: Final = "SELECT count(*) FROM clew.processes WHERE until > clock_timestamp()"
_USED: Final = "(SELECT used FROM clew.uses WHERE uses.seq = recordings.seq)"
_ADD_USE: Final = "INSERT INTO clew.uses (seq, used, bytes) VALUES ($1, $2, $3)"
_SET: Final = """
INSERT INTO clew.settings VALUES ($1, $2, $3, $4)
ON CONFLICT (scope, name) DO UPDATE SET value = excluded.value, changed = excluded.changed
"""
_NEXT: Final = "SELECT setval(pg_get_serial_sequence($1, $2), (SELECT coalesce(max({column}), 0) + 1 FROM {table}), false)"
_AT_A_TIME: Final = 200
_NUMBERS = count()


class _Column(msgspec.Struct, frozen=True):
    type: str
    is_numbered: bool


class PostgresTables:
    """The tables of a database for a move to another store: see `TableAccess`."""

    def __init__(self, database: PostgresDatabase, where: str) -> None:
        self._database = database
        self.where = where
        self._columns: dict[str, dict[str, _Column]] = {}
        for table, column, type, is_numbered in database.rows(_COLUMNS):
            self._columns.setdefault(str(table), {})[str(column)] = _Column(str(type), bool(is_numbered))

    def tables(self) -> Mapping[str, tuple[str, ...]]:
        moved = {name: tuple(columns) for name, columns in self._columns.items() if name not in NOT_MOVED}
        return {name: (*columns, "used") if name == "recordings" else columns for name, columns in moved.items()}

    def key(self, table: str) -> tuple[str, ...]:
        return tuple(str(name) for (name,) in self._database.rows(_KEY, f"clew.{table}"))

    def count(self, table: str) -> int:
        return int(str(self._database.value(f"SELECT count(*) FROM clew.{table}")))  # noqa: S608  (a name of the schema)

    def read(self, table: MovedTable, after: Row | None = None) -> Iterator[Row]:
        """By a cursor of the server: no more than some rows are in memory."""
        columns = [_USED if (table.name, name) == ("recordings", "used") else name for name in table.columns]
        key = ", ".join(table.key)
        places = ", ".join(f"${number}" for number, _ in enumerate(table.key, start=1))
        behind = f"WHERE ({key}) > ({places})" if after else ""
        statement = f"SELECT {', '.join(columns)} FROM clew.{table.name} {behind} ORDER BY {key}"  # noqa: S608  (names alone)
        with self._database.connection.transaction():
            cursor: psycopg.RawServerCursor[Any] = psycopg.RawServerCursor(
                self._database.connection, f"clew_move_{next(_NUMBERS)}"
            )
            with cursor:
                cursor.itersize = _AT_A_TIME
                cursor.execute(statement.encode(), after or (), binary=True)
                for row in cursor:
                    yield tuple(map(as_value, row))

    def as_kept(self, table: MovedTable, row: Row) -> Row:
        """Without what a text of PostgreSQL cannot hold. A recording that is changed so gets the sum of what it is now."""
        kept = tuple(clean_text(value) if isinstance(value, str) else value for value in row)
        if table.name != "recordings" or kept == row:
            return kept
        values: dict[str, Value] = dict(zip(table.columns, kept, strict=True))
        values["sum"] = sum_of(tuple(values[name] for name in COLUMNS.split(", ")))
        return tuple(values[name] for name in table.columns)

    def transaction(self) -> AbstractContextManager[None]:
        return self._transaction()

    @contextmanager
    def _transaction(self) -> Generator[None]:
        with self._database.connection.transaction():
            yield

    def insert(self, table: MovedTable, rows: Sequence[Row]) -> None:
        types = self._columns[table.name]
        columns = [name for name in table.columns if name in types]
        places = ", ".join(f"${number}::{types[name].type}" for number, name in enumerate(columns, start=1))
        into = f"clew.{table.name} ({', '.join(columns)})"
        statement = f"INSERT INTO {into} OVERRIDING SYSTEM VALUE VALUES ({places})"  # noqa: S608  (names alone)
        by_name = [dict(zip(table.columns, row, strict=True)) for row in rows]
        kept = [[_typed(row[name], types[name].type) for name in columns] for row in by_name]
        self._run_many(statement, kept)
        if table.name == "recordings":
            self._run_many(_ADD_USE, [[row["seq"], row["used"], len(_bytes(row["blocks"]))] for row in by_name])

    def _run_many(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        with self._database.connection.cursor() as cursor:
            cursor.executemany(statement.encode(), rows)

    def clear_settings(self, scope: str | None = None) -> None:
        if scope is None:
            self._database.run(f"DELETE FROM clew.{SETTINGS}")  # noqa: S608  (a constant)
        else:
            self._database.run("DELETE FROM clew.settings WHERE scope = $1", scope)

    def setting(self, scope: str, name: str) -> str | None:
        found = self._database.value("SELECT value FROM clew.settings WHERE scope = $1 AND name = $2", scope, name)
        return None if found is None else str(found)

    def set(self, scope: str, name: str, value: str) -> None:
        self._database.run(_SET, scope, name, value, now())

    def others(self) -> int:
        return int(str(self._database.value(_OTHERS)))

    def finish(self) -> None:
        for table, columns in self._columns.items():
            for name in (name for name, column in columns.items() if column.is_numbered):
                self._database.value(_NEXT.format(table=f"clew.{table}", column=name), f"clew.{table}", name)


def _typed(value: Value, type: str) -> object:
    return bool(value) if type == "boolean" and value is not None else value


def _bytes(value: Value) -> bytes:
    assert isinstance(value, bytes)
    return value


@contextmanager
def open_tables(url: str) -> Generator[PostgresTables]:
    """The tables of this database, which are made, or brought to the present schema."""
    where = describe_url(url)
    with raising_store_errors(where):
        database = PostgresDatabase(url)
        try:
            migrate(database, where)
            make_partitions(database, time.time())
            yield PostgresTables(database, where)
        finally:
            database.close()
