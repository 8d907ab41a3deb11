"""Reading connections: two for each process, made when they are first needed, and made again when they broke."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Concatenate, Final, ParamSpec, TypeVar

import psycopg

from clew.errors import StoreError
from clew.store.postgres.database import PostgresDatabase, raising_store_errors

P = ParamSpec("P")
T = TypeVar("T")

MOST: Final = 2
PATIENCE: Final = 5.0
"""Seconds that a read waits for a connection that others use."""


class PostgresReaders:
    """A pool of connections for reading, which all threads share."""

    def __init__(self, connect: Callable[[], PostgresDatabase], where: str) -> None:
        self._connect = connect
        self._where = where
        self._free = threading.Semaphore(MOST)
        self._lock = threading.Lock()
        self._idle: list[PostgresDatabase] = []
        self._closed = False

    @contextmanager
    def use(self) -> Generator[PostgresDatabase]:
        """A connection for one read. Raises StoreError for what fails in the block."""
        if self._closed:
            raise StoreError(f"{self._where} is closed")
        if not self._free.acquire(timeout=PATIENCE):
            raise StoreError(f"{self._where} is too slow: its connections are all in use")
        try:
            with raising_store_errors(self._where):
                database = self._take()
                try:
                    yield database
                finally:
                    self._give_back(database)
        finally:
            self._free.release()

    def read(self, query: Callable[Concatenate[PostgresDatabase, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of a query on one of the connections. One that broke while it was idle is replaced, once."""
        try:
            with self.use() as database:
                return query(database, *args, **kwargs)
        except StoreError as error:
            if not isinstance(error.__cause__, psycopg.OperationalError) or self._closed:
                raise
        with self.use() as database:
            return query(database, *args, **kwargs)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for database in idle:
            database.close()

    def _take(self) -> PostgresDatabase:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return self._connect()

    def _give_back(self, database: PostgresDatabase) -> None:
        with self._lock:
            if not self._closed and not database.is_broken:
                self._idle.append(database)
                return
        database.close()
