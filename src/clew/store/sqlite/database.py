"""SQLite at the border: types of its connections and rows, its exceptions as StoreErrors, and connections to the file.

apsw names its values by a type of Python 3.12, which a checker for 3.11 does not know: the protocols here have the exact
types of what the store uses.

The file holds people's words, so it is 0600 in a directory that only its owner can write to (made 0700); SQLite gives its
`-wal` and `-shm` files the same mode. A file that others can read is refused and not repaired: it may have been read
already.

WAL lets readers and one writer of any number of processes work at once. `synchronous=FULL` makes a commit survive a power
cut. `secure_delete` overwrites what is deleted, because deleting a thread must delete it. Checkpoints are made by the writer
after its commits are acknowledged, never inside one. A SQLite before 3.51.3 can damage such a file when one connection makes
a checkpoint while another writes, so it is refused (apsw brings a newer one, unless it was built with another).

The number of migrations done is the file's `user_version`; `application_id` says that it is a store of clew at all. All
missing migrations run in one transaction, so a crash leaves the old schema or the new one.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeVar, cast

import apsw
import msgspec

from clew.errors import RecordCorrupt, SchemaTooNew, StoreError
from clew.store.rows import Row, Value

T = TypeVar("T")


class Rows(Protocol):
    """The result of a statement: its rows, one by one or all."""

    @property
    def description(self) -> Sequence[tuple[Any, ...]]: ...
    @property
    def get(self) -> Any:
        """The only value of the only row, the row if it has several, the rows if there are several; None for nothing."""
        ...

    def __iter__(self) -> Iterator[Row]: ...
    def fetchone(self) -> Row | None: ...
    def fetchall(self) -> list[Row]: ...


class Tokenizer(Protocol):
    """Splits a text into words for an index."""

    def __call__(
        self,
        utf8: bytes,
        flags: int,
        locale: str | None,
        /,
        *,
        include_offsets: Literal[False],
        include_colocated: Literal[False],
    ) -> list[str]: ...


class Cursor(Protocol):
    """Executes statements one after the other: the rows of one are gone with the next."""

    def execute(self, statements: str, bindings: Sequence[Value] | Mapping[str, Value] | None = None, /) -> Rows: ...
    def executemany(self, statements: str, bindings: Iterable[Sequence[Value]], /) -> Rows: ...


class Database(Cursor, Protocol):
    """A connection. Here every statement has a cursor of its own."""

    @property
    def in_transaction(self) -> bool: ...

    def cursor(self) -> Cursor: ...
    def pragma(self, name: str, value: Value = None, /) -> Value: ...
    def changes(self) -> int: ...
    def last_insert_rowid(self) -> int: ...
    def set_busy_timeout(self, milliseconds: int, /) -> None: ...
    def set_wal_hook(self, hook: Callable[[Any, str, int], int], /) -> None: ...
    def wal_checkpoint(self, *, mode: int) -> tuple[int, int]: ...
    def fts5_tokenizer(self, name: str, args: Sequence[str], /) -> Tokenizer: ...
    def close(self) -> None: ...


def named_rows(rows: Rows) -> Iterator[dict[str, object]]:
    """Each row by the names of its columns."""
    names: Sequence[str] = ()
    for row in rows:
        names = names or [column[0] for column in rows.description]
        yield dict(zip(names, row, strict=True))


def typed_row(type: type[T], row: dict[str, object]) -> T:
    """A row as a value of this type. Raises RecordCorrupt."""
    try:
        return msgspec.convert(row, type, strict=False)  # SQLite has no booleans
    except msgspec.ValidationError as error:
        raise RecordCorrupt(f"a row of {type.__name__} cannot be read: {error}") from error


_RIGHTS: Final = "check the rights of the file and of its directory, and that its file system can be written"
_FAILURES: dict[type[apsw.Error], str] = {
    apsw.BusyError: "is busy: it is locked by another process; if that hangs, end it",
    apsw.FullError: "cannot grow: the disk is full; free some space, nothing is lost but what was not committed",
    apsw.ReadOnlyError: f"cannot be written; {_RIGHTS}",
    apsw.CantOpenError: f"cannot be opened; {_RIGHTS}",
    apsw.PermissionsError: f"may not be used; {_RIGHTS}",
    apsw.IOError: "cannot be written or read: the disk reports an error",
}
UNREADABLE: Final = (UnicodeDecodeError, msgspec.MsgspecError)
"""Raised for a row that SQLite takes for sound, with content that clew never writes."""
_DAMAGED = (apsw.CorruptError, apsw.NotADBError, apsw.SQLError, *UNREADABLE)
"""The store's statements are right, so an SQLError means a table or a column that is not there any more."""
_NEXT: Final = "`clew doctor` says more; stop clew and move it away (a start makes a new one), or put a backup in its place"


def store_error(error: Exception, path: Path) -> StoreError:
    """The StoreError for an exception of SQLite or of the file system; a StoreError as it is."""
    if isinstance(error, StoreError):
        return error
    if isinstance(error, _DAMAGED):
        return RecordCorrupt(f"{path} is damaged, or no store ({' '.join(str(error).split())}): {_NEXT}", file=str(path))
    if isinstance(error, OSError):
        return StoreError(f"{path} cannot be used: {error.filename}: {error.strerror}; {_RIGHTS}", file=str(path))
    what = next((text for type, text in _FAILURES.items() if isinstance(error, type)), "failed")
    return StoreError(f"{path} {what} ({error})", file=str(path))


@contextmanager
def raising_store_errors(path: Path) -> Generator[None]:
    """Turn the exceptions of SQLite and of the file system into StoreErrors."""
    try:
        yield
    except (apsw.Error, OSError, *UNREADABLE) as error:
        raise store_error(error, path) from error


BUSY: Final = 5.0
"""Seconds to wait for another process's transaction. Transactions take a millisecond; this is for a machine that is
stuck."""
OLDEST_SQLITE: Final = (3, 51, 3)
APPLICATION: Final = 0x636C6577
"""`clew`, in the header of the file: so that another program's database is not taken for a store."""

_JOURNAL_LIMIT: Final = 16 << 20
_CACHE_KILOBYTES: Final = 512
"""For each connection. A turn touches eighteen pages; SQLite's own 2,000 make no commit cheaper, and stay once filled."""


def prepare_file(path: Path) -> None:
    """Make directory and file if they are not there, private from the first moment; refuse those that are not private."""
    linked = apsw.sqlite_lib_version()
    if tuple(int(part) for part in linked.split(".")) < OLDEST_SQLITE:
        raise StoreError(
            f"{path} is not opened with SQLite {linked}, which can damage it (fixed in 3.51.3): "
            "install apsw from its wheel, which brings a newer one",
            file=str(path),
        )
    with raising_store_errors(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        if not path.is_file():
            raise StoreError(
                f"{path} is a directory or a device, not a file: move it away, or name another file in `[store] url`",
                file=str(path),
            )
        _check_mode(path, stat.S_IRWXG | stat.S_IRWXO, "600")
        _check_mode(path.parent, stat.S_IWGRP | stat.S_IWOTH, "700")


def _check_mode(path: Path, forbidden: int, better: str) -> None:
    mode = path.stat().st_mode
    if mode & forbidden:
        raise StoreError(
            f"{path} can be used by others (mode {stat.S_IMODE(mode):04o}), and what it holds is private: "
            f"run `chmod {better} {path}`",
            file=str(path),
        )


@contextmanager
def locked(path: Path) -> Generator[None]:
    """Only one process at a time sets up a file: the switch to WAL does not wait for its turn by itself."""
    with raising_store_errors(path):
        descriptor = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def connect(path: Path, *, read_only: bool = False, busy: float = BUSY, vfs: str | None = None) -> Database:
    """A connection with everything set. `vfs` is a layer under SQLite with which tests make disks fail."""
    flags = apsw.SQLITE_OPEN_READONLY if read_only else apsw.SQLITE_OPEN_READWRITE
    connection = cast(Database, apsw.Connection(str(path), flags=flags, vfs=vfs))
    connection.set_busy_timeout(int(busy * 1000))
    connection.pragma("cache_size", -_CACHE_KILOBYTES)
    if not read_only:
        if connection.pragma("page_count") == 0:
            connection.pragma("auto_vacuum", 2)  # incremental: retention gives free pages back in small steps
        connection.pragma("journal_mode", "wal")
        connection.pragma("synchronous", 2)
        connection.pragma("secure_delete", 1)
        connection.pragma("temp_store", 2)  # in memory: no file besides these ever holds a word
        connection.pragma("journal_size_limit", _JOURNAL_LIMIT)
    return connection


@contextmanager
def immediate(connection: Database) -> Generator[None]:
    """A transaction that has the write lock from its start, so that no other writer can come between."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # some failures have rolled back by themselves
            connection.execute("ROLLBACK")
        raise


def migrate(connection: Database, path: Path, migrations: Sequence[Callable[[Database], None]]) -> None:
    """Bring a file to the present schema. Raises SchemaTooNew, and RecordCorrupt for a database that is not clew's."""
    newest = len(migrations)
    if _version(connection, path, newest) == newest:
        return
    with immediate(connection):
        for step in migrations[_version(connection, path, newest) :]:  # asked again: another process may have been first
            step(connection)
        connection.pragma("application_id", APPLICATION)
        connection.pragma("user_version", newest)


def _version(connection: Database, path: Path, newest: int) -> int:
    version, owner = connection.pragma("user_version"), connection.pragma("application_id")
    assert isinstance(version, int)
    if owner != APPLICATION and (owner or version or connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").get):
        raise RecordCorrupt(
            f"{path} is another program's database, not a store of clew: name another file, or move it away",
            file=str(path),
        )
    if version > newest:
        raise SchemaTooNew(
            f"{path} has schema {version}, written by a newer clew; this one knows up to {newest}: "
            "update clew, or name another file",
            file=str(path),
        )
    return version


def log_bytes(path: Path) -> int:
    """The size of the log: what is committed, and not yet in the file itself."""
    log = path.with_name(f"{path.name}-wal")
    return log.stat().st_size if log.exists() else 0
