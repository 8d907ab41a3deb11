"""The tables that both kinds of database have alike, on a connection to PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Final, TypeVar

from clew.store.postgres.database import PostgresDatabase
from clew.store.postgres.leases import RowLeases, is_held
from clew.store.postgres.readers import PostgresReaders
from clew.store.postgres.writer import PostgresWriter
from clew.store.rows import Row
from clew.store.table_access import TableConnection

T = TypeVar("T")

_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"


class PostgresTableConnection:
    """Locks are advisory ones of the transaction, so they work behind a pooler."""

    def __init__(self, database: PostgresDatabase, leases: RowLeases) -> None:
        self._database = database
        self._leases = leases

    def rows(self, statement: str, *values: object) -> list[Row]:
        return self._database.rows(statement, *values)

    def run(self, statement: str, *values: object) -> int:
        return self._database.run(statement, *values)

    def lock(self, name: str) -> None:
        self._database.rows(_LOCK, name)

    def process(self) -> str:
        return self._leases.reserve()

    def is_alive(self, process: str) -> bool:
        return is_held(self._database, process)


class PostgresTableRunner:
    """Reads and writes tables that several parts of a store share, in one store."""

    def __init__(self, readers: PostgresReaders, writer: PostgresWriter, leases: RowLeases, shard: str) -> None:
        self._readers = readers
        self._writer = writer
        self._leases = leases
        self.shard = shard

    def read(self, work: Callable[[TableConnection], T]) -> T:
        return self._readers.read(lambda database: work(PostgresTableConnection(database, self._leases)))

    def write(self, work: Callable[[TableConnection], T], *, tells: bool = False) -> Future[T]:
        return self._writer.submit(lambda database: work(PostgresTableConnection(database, self._leases)), tells=tells)

    def hold_lease(self) -> None:
        self._leases.reserve()
