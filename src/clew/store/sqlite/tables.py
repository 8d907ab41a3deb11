"""The tables of a SQLite store, row by row, for a move to another store."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final

from clew.store.moving import NOT_MOVED, SETTINGS, MovedTable, now
from clew.store.rows import Row
from clew.store.sqlite.database import (
    Database,
    connect,
    immediate,
    locked,
    migrate,
    prepare_file,
    raising_store_errors,
)
from clew.store.sqlite.migrations import MIGRATIONS

_TABLES: Final = (
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND sql NOT LIKE '%VIRTUAL%'"
)
_COLUMNS: Final = "SELECT name, pk FROM pragma_table_info(?)"
_DAY: Final = "coalesce((SELECT day FROM pieces WHERE seq = bodies.chain), CAST(at / 86400 AS INTEGER))"
"""Bodies are kept by day elsewhere: by that of their pieces, so that both go together."""


class SqliteTables:
    """A `TableAccess`."""

    def __init__(self, connection: Database, where: str) -> None:
        self._database = connection
        self.where = where

    def tables(self) -> Mapping[str, tuple[str, ...]]:
        names = [str(name) for (name,) in self._database.execute(_TABLES)]
        moved = [name for name in names if name.partition("_")[0] not in NOT_MOVED]
        found = {name: tuple(str(each) for each, _ in self._database.execute(_COLUMNS, (name,))) for name in moved}
        return {name: (*columns, "day") if name == "bodies" else columns for name, columns in found.items()}

    def key(self, table: str) -> tuple[str, ...]:
        columns = [(int(str(place)), str(name)) for name, place in self._database.execute(_COLUMNS, (table,))]
        return tuple(name for place, name in sorted(columns) if place)

    def count(self, table: str) -> int:
        return int(self._database.execute(f"SELECT count(*) FROM {table}").get)  # noqa: S608  (a name of the schema)

    def read(self, table: MovedTable, after: Row | None = None) -> Iterator[Row]:
        columns = [_DAY if (table.name, name) == ("bodies", "day") else name for name in table.columns]
        key = ", ".join(table.key)
        behind = f"WHERE ({key}) > ({', '.join('?' for _ in table.key)})" if after else ""
        statement = f"SELECT {', '.join(columns)} FROM {table.name} {behind} ORDER BY {key}"  # noqa: S608  (names alone)
        yield from self._database.execute(statement, after or ())

    def as_kept(self, table: MovedTable, row: Row) -> Row:
        return row

    def transaction(self) -> AbstractContextManager[None]:
        return immediate(self._database)

    def insert(self, table: MovedTable, rows: Sequence[Row]) -> None:
        """A body's day is that of its pieces, which have it themselves."""
        columns = [name for name in table.columns if (table.name, name) != ("bodies", "day")]
        kept = [tuple(value for name, value in zip(table.columns, row, strict=True) if name in columns) for row in rows]
        places = ", ".join("?" for _ in columns)
        statement = f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES ({places})"  # noqa: S608  (names alone)
        self._database.executemany(statement, kept)

    def clear_settings(self, scope: str | None = None) -> None:
        if scope is None:
            self._database.execute(f"DELETE FROM {SETTINGS}")  # noqa: S608  (a constant)
        else:
            self._database.execute("DELETE FROM settings WHERE scope = ?", (scope,))

    def setting(self, scope: str, name: str) -> str | None:
        found = self._database.execute("SELECT value FROM settings WHERE scope = ? AND name = ?", (scope, name)).get
        return None if found is None else str(found)

    def set(self, scope: str, name: str, value: str) -> None:
        self._database.execute("INSERT OR REPLACE INTO settings VALUES (?, ?, ?, ?)", (scope, name, value, now()))

    def others(self) -> int:
        """A file knows of nobody: the registry of gateways does."""
        return 0

    def finish(self) -> None:
        """SQLite numbers new rows behind the last by itself."""


@contextmanager
def open_tables(path: Path) -> Generator[SqliteTables]:
    """The tables of this file, which is made, or brought to the present schema."""
    prepare_file(path)
    with raising_store_errors(path):
        with locked(path):
            connection = connect(path)
            try:
                migrate(connection, path, MIGRATIONS)
            except BaseException:
                connection.close()
                raise
        try:
            yield SqliteTables(connection, str(path))
        finally:
            connection.close()
