"""SQLite at the border: the exact types of its connections and rows, and its exceptions turned into StoreErrors.

apsw names its values by a type of Python 3.12, which a checker for 3.11 does not know: every call on its `Connection` would
be half unknown. The protocols here have the exact types of what the store uses.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeAlias, TypeVar

import apsw
import msgspec

from clew.errors import RecordCorrupt, StoreError

Value: TypeAlias = str | int | float | bytes | None
Row: TypeAlias = tuple[Value, ...]
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
    for row in rows:
        yield {column[0]: value for column, value in zip(rows.description, row, strict=True)}


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
