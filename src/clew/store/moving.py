"""A move of everything from one store to another, of any kind, table by table.

Both kinds of store have the same tables with the same columns, but for what `NOT_MOVED` names. A row goes over as it is, and
keeps its number. How far a move came is noted in the target, in the transaction that adds the rows: a move that was
interrupted goes on behind the last row that was committed. At the end the rows of both stores are counted and hashed.

The source is read, and never changed. Nobody may write to either store meanwhile; if somebody does, the check finds it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from hashlib import sha256
from itertools import islice
from typing import Final, Protocol

import msgspec
from msgspec import Struct

from clew.errors import StoreError
from clew.store.rows import Row, Value

NOT_MOVED: Final[Mapping[str, str]] = {
    "words": "the index of words is made again from the turns",
    "swept": "words that an index has still to forget",
    "uses": "the last use of a recording, which stands in the recording elsewhere",
    "state": "the version of the schema",
    "processes": "who has the store open",
    "reservations": "what hard limits set aside for requests under way",
}
"""Tables that one kind of store has for itself."""
COLUMNS_NOT_MOVED: Final = frozenset({("exchanges", "indexed"), ("exchanges", "xid"), ("natives", "seq")})
"""Columns that one kind of store has for itself: whether a turn is in the index of words, the transaction that wrote it,
and a number that nobody uses."""
SETTINGS: Final = "settings"
NOTES: Final = "clew-store-move"
"""The scope of the settings in which a move notes how far it came."""
_FROM: Final = "from"
_BATCH: Final = 200
_WRAP: Final = 1 << 256

Progress = Callable[[str, int], None]
"""Called with the name of a table, and how many of its rows were moved or checked since the last call."""


class TableAccess(Protocol):
    """The tables of one store. Raises StoreError."""

    @property
    def where(self) -> str:
        """The store, for people."""
        ...

    def tables(self) -> Mapping[str, tuple[str, ...]]:
        """The columns of each table that is moved."""
        ...

    def key(self, table: str) -> tuple[str, ...]:
        """The columns of its primary key."""
        ...

    def count(self, table: str) -> int: ...

    def read(self, table: MovedTable, after: Row | None = None) -> Iterator[Row]:
        """Its rows in the order of the key, those behind `after`."""
        ...

    def as_kept(self, table: MovedTable, row: Row) -> Row:
        """The row as this store keeps it, and as `read` gives it back."""
        ...

    def transaction(self) -> AbstractContextManager[None]: ...
    def insert(self, table: MovedTable, rows: Sequence[Row]) -> None: ...
    def clear_settings(self, scope: str | None = None) -> None: ...
    def setting(self, scope: str, name: str) -> str | None: ...
    def set(self, scope: str, name: str, value: str) -> None: ...
    def others(self) -> int:
        """How many other processes have the store open, as far as the store knows."""
        ...

    def finish(self) -> None:
        """Let new rows get numbers behind those that were moved."""
        ...


class MovedTable(Struct, frozen=True):
    """A table that both stores have, with the columns that both have."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]

    def key_of(self, row: Row) -> Row:
        return tuple(row[self.columns.index(name)] for name in self.key)


class TableCheck(Struct, frozen=True, kw_only=True):
    """What a table has in both stores."""

    table: str
    rows: int
    digest: str


def tables_of(source: TableAccess, target: TableAccess) -> list[MovedTable]:
    """What is moved, in the order of the names; the settings last, because they have the notes of the move."""
    here, there = source.tables(), target.tables()
    if unknown := sorted(here.keys() ^ there.keys()):
        raise StoreError(f"{', '.join(unknown)}: not a table of both stores. Update clew, and open both with it once")
    names = sorted(here, key=lambda name: (name == SETTINGS, name))
    return [_moved_table(name, source, target, here[name], there[name]) for name in names]


def _moved_table(
    name: str, source: TableAccess, target: TableAccess, here: tuple[str, ...], there: tuple[str, ...]
) -> MovedTable:
    columns = tuple(each for each in here if each in there)
    keys = [key for key in (source.key(name), target.key(name)) if set(key) <= set(columns)]
    if not keys:
        raise StoreError(f"{name} has no key that both stores have")
    return MovedTable(name, columns, min(keys, key=len))


def move(source: TableAccess, target: TableAccess, progress: Progress) -> list[TableCheck]:
    """Move everything, or what an earlier move left. Raises StoreError; then, or after Ctrl-C, it can be called again."""
    tables = tables_of(source, target)
    if source.setting(NOTES, _FROM) is not None:
        raise StoreError(f"{source.where} is itself the target of a move that was not finished: finish that one first")
    _check_nobody_writes(source, target)
    _begin(source, target, tables)
    for table in tables:
        note = target.setting(NOTES, table.name)  # the last row that an earlier move brought
        after = tuple(msgspec.msgpack.decode(bytes.fromhex(note))) if note else None
        rows = source.read(table, after)
        while batch := list(islice(rows, _BATCH)):
            with target.transaction():
                target.insert(table, [target.as_kept(table, row) for row in batch])
                target.set(NOTES, table.name, msgspec.msgpack.encode(table.key_of(batch[-1])).hex())
            progress(table.name, len(batch))
    with target.transaction():
        target.finish()
    checked = _check(source, target, tables, progress)
    with target.transaction():
        target.clear_settings(NOTES)
    return checked


def rows_to_move(source: TableAccess, target: TableAccess) -> int:
    """How many rows `move` will report: each once when it is moved, and once when it is checked."""
    return 2 * sum(source.count(table.name) for table in tables_of(source, target))


def is_begun(target: TableAccess) -> bool:
    return target.setting(NOTES, _FROM) is not None


def _check_nobody_writes(*stores: TableAccess) -> None:
    for store in stores:
        if others := store.others():
            raise StoreError(f"{store.where} is in use by {others} other process(es): end them first, then run this again")


def _begin(source: TableAccess, target: TableAccess, tables: Sequence[MovedTable]) -> None:
    begun = target.setting(NOTES, _FROM)
    if begun is not None and begun != source.where:
        raise StoreError(f"{target.where} is the target of a move from {begun} that was not finished: finish that one first")
    if begun is not None:
        return
    for table in tables:
        if table.name != SETTINGS and (count := target.count(table.name)):
            raise StoreError(f"{target.where} is not empty ({table.name} has {count} rows): name an empty one")
    with target.transaction():
        target.clear_settings()
        target.set(NOTES, _FROM, source.where)


def _check(source: TableAccess, target: TableAccess, tables: Sequence[MovedTable], progress: Progress) -> list[TableCheck]:
    checks: list[TableCheck] = []
    for table in tables:
        wanted = _digest((target.as_kept(table, row) for row in source.read(table)), table, progress)
        found = _digest(target.read(table), table, lambda _table, _count: None)
        if wanted != found:
            raise StoreError(
                f"{table.name} differs: {wanted[0]} rows in {source.where}, {found[0]} in {target.where}"
                f"{', with other content' if wanted[0] == found[0] else ''}. Somebody wrote to one of them meanwhile: "
                "end all gateways, empty the target, and move again"
            )
        checks.append(TableCheck(table=table.name, rows=found[0], digest=f"{found[1]:064x}"))
    return checks


def _digest(rows: Iterator[Row], table: MovedTable, progress: Progress) -> tuple[int, int]:
    """Count and hash of rows in any order: two databases sort texts differently. The notes of a move do not count."""
    count = total = 0
    scope = table.columns.index("scope") if table.name == SETTINGS else -1
    for row in rows:
        if scope >= 0 and row[scope] == NOTES:
            continue
        count += 1
        total = (total + int.from_bytes(sha256(msgspec.msgpack.encode(row)).digest())) % _WRAP
        if count % _BATCH == 0:
            progress(table.name, _BATCH)
    progress(table.name, count % _BATCH)
    return count, total


def now() -> float:
    """When a note was written: settings have a time."""
    return time.time()


def as_value(value: Value) -> Value:
    """One form for a value, whichever database it comes from: PostgreSQL has booleans, and SQLite numbers."""
    return int(value) if isinstance(value, bool) else value
