"""Reading connections: as many as there are reads at once, kept for the next read.

Each read is over when its call is: no reader holds a snapshot, which would keep the writer's log from being checkpointed. A
connection is used by one thread at a time. The first is opened with the store, so that no request waits for that.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Concatenate, ParamSpec, Self, TypeVar

import apsw

from clew.errors import StoreError
from clew.model.turn import Exchange
from clew.store.cut_exchanges import as_seen
from clew.store.sqlite.database import (
    UNREADABLE,
    Database,
    Row,
    Value,
    connect,
    prepare_file,
    raising_store_errors,
    store_error,
)
from clew.store.sqlite.leases import FileLeases
from clew.store.sqlite.migrations import MIGRATIONS
from clew.store.sqlite.queries import exchanges, pin_of, settings, thread_of

P = ParamSpec("P")
T = TypeVar("T")


class Readers:
    """A stack of idle connections."""

    def __init__(self, path: Path, connect: Callable[[], Database]) -> None:
        self._path = path
        self._connect = connect
        self._lock = threading.Lock()
        self._closed = False
        with raising_store_errors(path):
            self._idle = [connect()]

    @contextmanager
    def use(self) -> Generator[Database]:
        """A connection for one read. Raises StoreError for what fails in the block."""
        with raising_store_errors(self._path):
            connection = self._take()
            try:
                yield connection
            finally:
                self._give_back(connection)

    def read(self, query: Callable[Concatenate[Database, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of a query on one of the connections."""
        with self.use() as connection:
            return query(connection, *args, **kwargs)

    def read_soon(self, query: Callable[Concatenate[Database, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The same: a file answers at once."""
        return self.read(query, *args, **kwargs)

    def rows(self, statement: str, bindings: Sequence[Value]) -> list[Row]:
        """All rows of one statement: as `use`, without the context manager, which would be a third of a small read."""
        connection = self._take()
        try:
            return connection.execute(statement, bindings).fetchall()
        except (apsw.Error, *UNREADABLE) as error:
            raise store_error(error, self._path) from error
        finally:
            self._give_back(connection)

    @contextmanager
    def fresh(self) -> Generator[Database]:
        """A connection that has read nothing yet, and is closed behind the block."""
        with raising_store_errors(self._path):
            connection = self._connect()
            try:
                yield connection
            finally:
                connection.close()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _take(self) -> Database:
        with self._lock:
            if self._closed:
                raise StoreError(f"{self._path} is closed", file=str(self._path))
            if self._idle:
                return self._idle.pop()
        with raising_store_errors(self._path):
            return self._connect()

    def _give_back(self, connection: Database) -> None:
        with self._lock:
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()


class ChangeWatch:
    """Whether anything was committed since the last look, by any connection.

    SQLite's `data_version` counts the commits of other connections than the one that is asked. So it is always the same
    connection, and nothing is written through it.
    """

    def __init__(self, path: Path, connect: Callable[[], Database]) -> None:
        self._path = path
        self._lock = threading.Lock()
        with raising_store_errors(path):
            self._connection: Database | None = connect()

    def data_version(self) -> int:
        with self._lock, raising_store_errors(self._path):
            if self._connection is None:
                raise StoreError(f"{self._path} is closed", file=str(self._path))
            version = self._connection.pragma("data_version")
            assert isinstance(version, int)
            return version

    def close(self) -> None:
        with self._lock:
            connection, self._connection = self._connection, None
        if connection:
            connection.close()


class SqliteQuickLook:
    """A `QuickLook` at a file that is there. Raises StoreError where it cannot be read.

    It starts no threads and takes no lock, and the code that writes is not even loaded: one connection reads what a line of
    text needs. A file of another schema is not read: opening it properly migrates it.
    """

    def __init__(self, path: Path) -> None:
        prepare_file(path)
        self._path = path
        with raising_store_errors(path):
            self._connection = connect(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._connection.close()

    @property
    def is_current(self) -> bool:
        with raising_store_errors(self._path):
            return self._connection.pragma("user_version") == len(MIGRATIONS)

    def last(self, principal: str, session: str) -> Exchange | None:
        with raising_store_errors(self._path):
            thread = thread_of(self._connection, principal, session, "")
            found = exchanges(self._connection, principal, thread, 1) if thread else []
        return as_seen(*found[0], FileLeases(self._path)) if found else None

    def pin_of(self, principal: str, thread: str) -> str:
        with raising_store_errors(self._path):
            return pin_of(self._connection, principal, thread)

    def settings(self, scope: str = "") -> dict[str, str]:
        with raising_store_errors(self._path):
            return settings(self._connection, scope)
