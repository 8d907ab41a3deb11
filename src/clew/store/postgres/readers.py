"""Reading connections: two for each process, made when they are first needed, and made again when they broke."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic
from typing import Concatenate, Final, ParamSpec, TypeVar

import psycopg

from clew.errors import StoreError
from clew.store.postgres.database import PostgresDatabase, raising_store_errors
from clew.store.postgres.limited_connection import NoReply

P = ParamSpec("P")
T = TypeVar("T")

MOST: Final = 2
READ_SECONDS: Final = 60.0
"""That a read may take, with all that it waits for. All usage of years takes long."""
REQUEST_SECONDS: Final = 2.0
"""That a read may take for which a client's request waits, and can go on without."""
AWAY_SECONDS: Final = 5.0
"""After a reply that did not come nobody asks for so long, unless it is known earlier that the server answers again."""


class PostgresReaders:
    """A pool of connections for reading, which all threads share.

    A server that says nothing costs those who ask first their time, and nobody else: until it answers again, all reads fail
    at once. A process that serves hears of it from the thread that follows the generation (`note_answer`).
    """

    def __init__(self, connect: Callable[[], PostgresDatabase], where: str) -> None:
        self._connect = connect
        self._where = where
        self._free = threading.Semaphore(MOST)
        self._lock = threading.Lock()
        self._idle: list[PostgresDatabase] = []
        self._closed = False
        self._away_until = 0.0
        self._away_why = ""

    def read(self, query: Callable[Concatenate[PostgresDatabase, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of a query. Raises StoreError."""
        return self._read_by(monotonic() + READ_SECONDS, lambda database: query(database, *args, **kwargs))

    def read_soon(self, query: Callable[Concatenate[PostgresDatabase, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The same for a client's request, which waits for it."""
        return self.read_by(request_deadline(), query, *args, **kwargs)

    def read_by(
        self, deadline: float, query: Callable[Concatenate[PostgresDatabase, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """The same until a time of the monotonic clock: a request that reads more than once waits once."""
        return self._read_by(deadline, lambda database: query(database, *args, **kwargs))

    def read_without_limit(
        self, query: Callable[Concatenate[PostgresDatabase, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """The same for what goes through all that is kept."""
        return self._read_by(None, lambda database: query(database, *args, **kwargs))

    def note_answer(self) -> None:
        """The server answered somebody."""
        self._away_until = 0.0

    def close(self) -> None:
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for database in idle:
            database.close()

    def _read_by(self, deadline: float | None, query: Callable[[PostgresDatabase], T]) -> T:
        """A connection that broke while it was idle is replaced, once."""
        self._check()
        if not self._free.acquire(timeout=None if deadline is None else max(0.0, deadline - monotonic())):
            raise self._note_silence(f"{self._where} is too slow: its connections are all in use")
        try:
            self._check()  # others may have waited in vain meanwhile
            with raising_store_errors(self._where):
                database, is_new = self._take()
                try:
                    return self._run(database, deadline, query)
                except psycopg.OperationalError as error:
                    if is_new or isinstance(error, NoReply):
                        raise
                return self._run(self._take(connects=True)[0], deadline, query)
        except StoreError as error:
            if isinstance(error.__cause__, psycopg.OperationalError):
                self._note_silence(str(error))
            raise
        finally:
            self._free.release()

    def _run(self, database: PostgresDatabase, deadline: float | None, query: Callable[[PostgresDatabase], T]) -> T:
        try:
            if deadline is None:
                return query(database)
            with database.limited(max(0.0, deadline - monotonic())):
                return query(database)
        finally:
            self._give_back(database)

    def _check(self) -> None:
        if self._closed:
            raise StoreError(f"{self._where} is closed")
        if monotonic() < self._away_until:
            raise StoreError(self._away_why)

    def _note_silence(self, why: str) -> StoreError:
        self._away_until, self._away_why = monotonic() + AWAY_SECONDS, why
        return StoreError(why)

    def _take(self, *, connects: bool = False) -> tuple[PostgresDatabase, bool]:
        """A connection, and whether it is new."""
        with self._lock:
            if self._idle and not connects:
                return self._idle.pop(), False
        return self._connect(), True

    def _give_back(self, database: PostgresDatabase) -> None:
        with self._lock:
            if not self._closed and not database.is_broken:
                self._idle.append(database)
                return
        database.close()


def request_deadline() -> float:
    """Until when a request that begins to read now waits, by the monotonic clock."""
    return monotonic() + REQUEST_SECONDS
