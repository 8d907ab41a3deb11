"""PostgreSQL at the border: connections, rows, and its exceptions as StoreErrors.

Every statement names the schema `clew`, because a pooler may give each transaction another session, and a search path would
be lost. Parameters are `$1`, which psycopg sends as they are: names cost the client twice the time of a turn. Statements are
prepared at once, unless there is a pooler between: those before PgBouncer 1.21 do not know which session has which
statement. A pooler shows itself: the server's process is not the one that the connection was told of.

A server that is away must be noticed soon, and never by a request that waits for it: connecting takes two seconds at most,
and so long may data be without a reply.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Any, Final, TypeVar

import msgspec
import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from clew.errors import RecordCorrupt, StoreError
from clew.store.postgres.limited_connection import LimitedConnection
from clew.store.postgres.passwords import find_password
from clew.store.postgres.row_pipeline import UNPREPARED, RowPipeline
from clew.store.postgres.turn_statement import TURN
from clew.store.rows import Row, Value

T = TypeVar("T")

CONNECT_SECONDS: Final = 2
_SILENT_MILLISECONDS: Final = 2000
_OURS: Final[Mapping[str, str | int]] = {
    "connect_timeout": CONNECT_SECONDS,
    "tcp_user_timeout": _SILENT_MILLISECONDS,
    "keepalives_idle": 15,
    "application_name": "clew",
    "target_session_attrs": "read-write",
}
"""What a connection gets unless its URL says otherwise."""

_UNREADABLE: Final = (
    "`[store] url` cannot be read: write postgresql://USER:PASSWORD@HOST/DATABASE, with all but letters and digits of the "
    "password as in a URL (%20 for a space, %40 for @), or name a file that has the password: ?password=file:/PATH"
)
_SESSION: Final = "SELECT pg_backend_pid(), extract(epoch FROM clock_timestamp())::float8"
_FAILURES: Final[Mapping[str, str]] = {
    "08": "cannot be reached",
    "28": "refuses the user or the password: check `[store] url`",
    "3D": "has no such database: create it, or name another in `[store] url`",
    "42": "has other tables than this clew expects: `clew doctor` says more",
    "53": "has no room, or no connection left: see its log, and `max_connections`",
    "57": "is shutting down or starting",
}
"""By the first two characters of the server's code."""
AGAIN: Final = frozenset({"40001", "40P01", UNPREPARED})
"""Codes after which the same transaction may succeed: another one was in its way, or a statement must be prepared again."""


def describe_url(url: str) -> str:
    """The address for people: without a password."""
    try:
        parts = address_parts(url)
    except StoreError:
        return "postgresql (an address that cannot be read)"
    host, port = parts.get("host", "localhost"), parts.get("port", "5432")
    return f"postgresql://{host}:{port}/{parts.get('dbname', '')}"


def address_parts(url: str) -> dict[str, object]:
    """Raises StoreError. What the driver says of an address that it cannot read quotes a part of it, maybe the password; and
    a password with `@` or `/` in it ends up in other parts."""
    before, _, path = url.partition("?")[0].partition("://")[2].partition("/")
    if before.count("@") > 1 or "@" in path:
        raise StoreError(_UNREADABLE)
    try:
        return {**conninfo_to_dict(url)}
    except psycopg.ProgrammingError:
        raise StoreError(_UNREADABLE) from None


def store_error(error: Exception, where: str) -> StoreError:
    """The StoreError for an exception of psycopg; a StoreError as it is."""
    if isinstance(error, StoreError):
        return error
    said = " ".join(str(error).split())
    if isinstance(error, psycopg.Error):
        code = error.sqlstate or ("08" if isinstance(error, psycopg.OperationalError) else "")
        return StoreError(f"{where} {_FAILURES.get(code[:2], 'failed')} ({said})")
    if isinstance(error, (msgspec.MsgspecError, UnicodeDecodeError)):
        return RecordCorrupt(f"{where} has a row that cannot be read ({said})")
    return StoreError(f"{where} failed ({said})")


@contextmanager
def raising_store_errors(where: str) -> Generator[None]:
    """Turn the exceptions of psycopg into StoreErrors."""
    try:
        yield
    except (psycopg.Error, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise store_error(error, where) from error


class PostgresDatabase:
    """A connection to the database. One thread uses it at a time."""

    def __init__(self, url: str) -> None:
        """Raises psycopg.Error, and StoreError where the password cannot be found."""
        given = address_parts(url)
        ours = {name: value for name, value in _OURS.items() if name not in given}
        if password := find_password(str(given.get("password", "")), describe_url(url)):
            ours["password"] = password
        conninfo, end = make_conninfo(url, **ours), monotonic() + CONNECT_SECONDS
        self.connection = LimitedConnection.connect(
            conninfo, autocommit=True, prepare_threshold=None, cursor_factory=psycopg.RawCursor
        )
        try:
            with self.limited(max(0.5, end - monotonic())):
                self._learn_session()
        except BaseException:
            self.close()
            raise
        self._turns = RowPipeline(self.connection, TURN, prepares=not self.is_pooled)

    def _learn_session(self) -> None:
        before = time.time()
        pid, server_time = msgspec.convert(self.row(_SESSION), tuple[int, float])
        self.clock_offset = server_time - (before + time.time()) / 2
        """Seconds that the server's clock is ahead of this machine's."""
        if self.connection.info.backend_pid == pid:  # only now: a pooler may give the statement's name to another session
            self.connection.prepare_threshold = 0

    @property
    def is_pooled(self) -> bool:
        """Whether a transaction pooler stands between this process and the server."""
        return self.connection.prepare_threshold is None

    @contextmanager
    def limited(self, seconds: float) -> Generator[None]:
        """In this block, a statement without a reply for so long breaks the connection."""
        self.connection.reply_seconds = seconds
        try:
            yield
        finally:
            self.connection.reply_seconds = None

    @property
    def is_broken(self) -> bool:
        return self.connection.closed or self.connection.broken

    def rows(self, statement: str, *values: object) -> list[Row]:
        return self._execute(statement, values).fetchall()

    def row(self, statement: str, *values: object) -> Row | None:
        return self._execute(statement, values).fetchone()

    def value(self, statement: str, *values: object) -> Value:
        """The first value of the first row; None if there is none."""
        found = self._execute(statement, values).fetchone()
        return found[0] if found else None

    def named_rows(self, statement: str, *values: object) -> list[dict[str, object]]:
        """Each row by the names of its columns."""
        cursor = self._execute(statement, values)
        names = [column.name for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def run(self, statement: str, *values: object) -> int:
        """Run a statement, and return how many rows it affected."""
        return self._execute(statement, values).rowcount

    def run_script(self, statements: str) -> None:
        """Run several statements without values."""
        self.connection.execute(statements.encode(), prepare=False)

    def send(self, statement: str, *values: object) -> psycopg.Cursor[Row]:
        """As a part of a pipeline: the result is there when the pipeline was synced."""
        return self._execute(statement, values)

    def keep_turns(self, turns: Sequence[Sequence[bytes | None]]) -> list[bool]:
        """Whether each of them is new and was kept, by the parameters of `TURN`."""
        return self._turns.run(turns)

    def close(self) -> None:
        self.connection.close()

    def _execute(self, statement: str, values: Sequence[object]) -> psycopg.Cursor[Row]:
        cursor: psycopg.Cursor[Any] = self.connection.cursor(binary=True)
        return cursor.execute(statement.encode(), values)


def typed_row(type: type[T], row: dict[str, object]) -> T:
    """A row as a value of this type. Raises RecordCorrupt."""
    try:
        return msgspec.convert(row, type, strict=False)
    except msgspec.ValidationError as error:
        raise RecordCorrupt(f"a row of {type.__name__} cannot be read: {error}") from error
