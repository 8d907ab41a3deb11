"""Reading connections: as many as there are reads at once, kept for the next.

Each read is over when its call is: no reader holds a snapshot, which would keep the writer's log from being checkpointed. A
connection is used by one thread at a time, whichever that is. The first is opened with the store, so
that no request waits for that.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import apsw

from clew.errors import StoreError
from clew.store.sqlite.database import Database, Row, Value
from clew.store.sqlite.foreign import UNREADABLE, mapped, store_error

__all__ = ["Readers", "Watch"]


class Readers:
    """A stack of idle connections."""

    def __init__(self, path: Path, connect: Callable[[], Database]) -> None:
        self._path = path
        self._connect = connect
        self._lock = threading.Lock()
        self._closed = False
        with mapped(path):
            self._idle = [connect()]

    @contextmanager
    def use(self) -> Generator[Database]:
        """A connection for one read. Foreign exceptions become ours."""
        with mapped(self._path):
            connection = self._take()
            try:
                yield connection
            finally:
                self._give_back(connection)

    @contextmanager
    def fresh(self) -> Generator[Database]:
        """A connection that has read nothing yet, and is closed behind the block."""
        with mapped(self._path):
            connection = self._connect()
            try:
                yield connection
            finally:
                connection.close()

    def rows(self, statement: str, bindings: Sequence[Value]) -> list[Row]:
        """All that one statement gives: `use` without its ceremony, which would be a third of a small read."""
        connection = self._take()
        try:
            return connection.execute(statement, bindings).fetchall()
        except (apsw.Error, *UNREADABLE) as error:
            raise store_error(error, self._path) from error
        finally:
            self._give_back(connection)

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
        with mapped(self._path):
            return self._connect()

    def _give_back(self, connection: Database) -> None:
        with self._lock:
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()


class Watch:
    """Whether anything was committed since the last look, by anybody.

    SQLite's `data_version` says it of commits by other connections than the one that is asked. So it is always the same one,
    and nobody writes by it.
    """

    def __init__(self, path: Path, connect: Callable[[], Database]) -> None:
        self._path = path
        self._lock = threading.Lock()
        with mapped(path):
            self._connection: Database | None = connect()

    def changed(self) -> int:
        with self._lock, mapped(self._path):
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
