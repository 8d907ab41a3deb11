"""SQLite's connection as far as the store uses it, with exact types.

apsw names its values by a type of Python 3.12, which a checker for 3.11 does not know: every call on its `Connection` would
be half unknown. These protocols say what comes in and out, once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias

__all__ = ["Cursor", "Database", "Row", "Rows", "Value"]

Value: TypeAlias = str | int | float | bytes | None
Row: TypeAlias = tuple[Value, ...]


class Rows(Protocol):
    """What a statement gave: its rows, one by one or all."""

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
    """What takes a text apart for an index of words."""

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
    """What statements are done with, one after the other: the rows of one are gone with the next."""

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
