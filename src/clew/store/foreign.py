"""Database files of other programs, for reading only: `clew import-config` takes settings from them."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, Final

from clew.errors import StoreError

_HEAD: Final = b"SQLite format 3\0"


def is_database(head: bytes) -> bool:
    """Whether a file that begins so is a database."""
    return head.startswith(_HEAD)


def table_rows(file: Path, table: str) -> list[dict[str, object]]:
    """All rows of a table, by column, in the order in which they were added. Raises StoreError."""
    apsw: Any = import_module("apsw")
    try:
        database = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            columns = [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')]
            rows = list(database.execute(f'SELECT * FROM "{table}" ORDER BY rowid'))  # noqa: S608  (names come from our code)
        finally:
            database.close()
    except apsw.Error as error:
        raise StoreError(f"{file} cannot be read: {error}") from None
    return [dict(zip(columns, row, strict=True)) for row in rows]
