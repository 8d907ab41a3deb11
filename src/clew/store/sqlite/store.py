"""The store in one SQLite file. Any number of processes may have it open, each with one writer and any number of readers."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeVar, cast

from clew.model.turn import TurnRecord
from clew.store.base import DatabaseStore, StoreParts
from clew.store.lookup_memory import LookupMemory
from clew.store.rows import Row, Value
from clew.store.sqlite import statements, writes
from clew.store.sqlite.database import (
    BUSY,
    Database,
    Rows,
    connect,
    locked,
    log_bytes,
    migrate,
    prepare_file,
    raising_store_errors,
)
from clew.store.sqlite.examine import verify
from clew.store.sqlite.leases import FileLeases
from clew.store.sqlite.lookups import Lookups
from clew.store.sqlite.migrations import MIGRATIONS
from clew.store.sqlite.readers import ChangeWatch, Readers
from clew.store.sqlite.writer import Writer, WriterLimits
from clew.store.table_access import TableConnection, new_shard
from clew.store.turn_content import turn_weight
from clew.store.values import RunClaim, StoreFault, StoreSize


class SqliteStore(DatabaseStore[Database]):
    """A `Store`. Opening it makes the file, or brings it to the present schema; raises StoreError where that fails.

    With `content=False` nothing is kept for people to read: no questions, no titles, no tool inputs, no bodies. What
    recognition and restoring need is kept as it is, and that includes an answer's thinking and texts. `keep` is of how many
    exchanges of each principal the bodies are kept, the last ones; None is all of them.
    """

    def __init__(
        self,
        path: Path,
        *,
        content: bool = True,
        keep: int | None = 50,
        busy: float = BUSY,
        limits: WriterLimits | None = None,
        vfs: str | None = None,
    ) -> None:
        prepare_file(path)
        with locked(path), raising_store_errors(path):
            connection = connect(path, busy=busy, vfs=vfs)
            try:
                migrate(connection, path, MIGRATIONS)
            except BaseException:
                connection.close()
                raise
        self._path = path
        self._file_leases = FileLeases(path)
        limits = limits or WriterLimits()
        writer = Writer(connection, path, limits, busy)
        reading = partial(connect, path, read_only=True, busy=busy, vfs=vfs)
        self._file_readers = Readers(path, reading)
        self._watch = ChangeWatch(path, reading)
        memory = LookupMemory()
        lookups = Lookups(self._file_readers, memory)
        access = SqliteTableRunner(self._file_readers, writer, self._file_leases, new_shard())
        parts = StoreParts[Database](statements, writer, self._file_readers, self._file_leases, memory, lookups, access)
        super().__init__(parts, content=content, keep=keep, long_delay=limits.long_delay)

    def close(self) -> None:
        self._readers.close()
        self._watch.close()
        self._bodies.close()
        self._writer.close()
        self._file_leases.close()

    def _write_turn(self, turn: TurnRecord, *, readable: bool, lazily: bool, brought_back: bool) -> Future[bool]:
        is_open = turn.exchange.outcome == "open"

        def write(connection: Database) -> bool:
            process = self.leases.name() if is_open and not brought_back else ""
            told = {"readable": readable, "brought_back": brought_back}
            return writes.record(connection, turn, process=process, shard=self.shard, **told)

        return self._writer.submit(write, weight=turn_weight(turn), lazily=lazily)

    def claim_calls(self, claim: RunClaim, *, at: float, here: bool) -> Future[bool]:
        def write(connection: Database) -> bool:
            return statements.claim_calls(connection, claim, self.leases.name() if here else "", at)

        return self._writer.submit(write)

    def data_version(self) -> int:
        return self._watch.data_version()

    def describe(self) -> str:
        return str(self._path)

    def size(self) -> StoreSize:
        with raising_store_errors(self._path):
            return StoreSize(bytes=self._path.stat().st_size, log_bytes=log_bytes(self._path))

    def verify(self) -> tuple[StoreFault, ...]:
        # FTS5 checks an index by what it remembers of it, others' changes or not
        with self._file_readers.fresh() as connection:
            return verify(connection)


# The tables that both kinds of database have alike, on a connection of SQLite.


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
