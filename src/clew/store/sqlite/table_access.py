"""The tables that both kinds of database have alike, on a connection of SQLite."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from functools import lru_cache
from typing import TypeVar, cast

from clew.store.rows import Row, Value
from clew.store.sqlite.database import Database, Rows
from clew.store.sqlite.leases import FileLeases
from clew.store.sqlite.readers import Readers
from clew.store.sqlite.writer import Writer
from clew.store.table_access import TableConnection

T = TypeVar("T")


class SqliteTableConnection:
    """Its transactions have the write lock from their start, so nobody has to be kept out besides."""

    def __init__(self, connection: Database, leases: FileLeases) -> None:
        self._connection = connection
        self._leases = leases

    def rows(self, statement: str, *values: object) -> list[Row]:
        return self._execute(statement, values).fetchall()

    def run(self, statement: str, *values: object) -> int:
        self._execute(statement, values)
        return self._connection.changes()

    def lock(self, name: str) -> None:
        pass

    def process(self) -> str:
        return self._leases.name()

    def is_alive(self, process: str) -> bool:
        return self._leases.is_held(process)

    def _execute(self, statement: str, values: tuple[object, ...]) -> Rows:
        named = {str(number): cast(Value, value) for number, value in enumerate(values, start=1)}
        return self._connection.execute(_without_schema(statement), named)


class SqliteTableRunner:
    """Of one store."""

    def __init__(self, readers: Readers, writer: Writer, leases: FileLeases, shard: str) -> None:
        self._readers = readers
        self._writer = writer
        self._leases = leases
        self.shard = shard

    def read(self, work: Callable[[TableConnection], T]) -> T:
        return self._readers.read(lambda connection: work(SqliteTableConnection(connection, self._leases)))

    def write(self, work: Callable[[TableConnection], T], *, tells: bool = False) -> Future[T]:
        return self._writer.submit(lambda connection: work(SqliteTableConnection(connection, self._leases)), tells=tells)

    def hold_lease(self) -> None:
        """The writer's thread takes it when it needs it."""


@lru_cache(maxsize=256)
def _without_schema(statement: str) -> str:
    return statement.replace("clew.", "")
