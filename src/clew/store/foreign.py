"""The border: SQLite's exceptions and the file system's become ours here, with what was wrong and what helps."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import apsw

from clew.errors import RecordCorrupt, StoreError

__all__ = ["mapped", "store_error"]

_WORDS: dict[type[apsw.Error], str] = {
    apsw.BusyError: "is locked by another process; if that hangs, end it",
    apsw.FullError: "cannot grow: the disk is full; free some space, nothing is lost but what was not committed",
    apsw.ReadOnlyError: "cannot be written; check the rights of the file and of its directory",
    apsw.CantOpenError: "cannot be opened; check the rights of the file and of its directory",
    apsw.PermissionsError: "may not be used; check the rights of the file and of its directory",
    apsw.IOError: "cannot be written or read: the disk reports an error",
}
_DAMAGED = (apsw.CorruptError, apsw.NotADBError)


def store_error(error: Exception, path: Path) -> StoreError:
    """Our error for a foreign one; ours as it is."""
    if isinstance(error, StoreError):
        return error
    if isinstance(error, _DAMAGED):
        return RecordCorrupt(
            f"{path} is damaged, or no store: {error}. Move it away and clew makes a new one", file=str(path)
        )
    if isinstance(error, OSError):
        return StoreError(f"{path} cannot be used: {error.filename}: {error.strerror}", file=str(path))
    words = next((words for type, words in _WORDS.items() if isinstance(error, type)), "failed")
    return StoreError(f"{path} {words} ({error})", file=str(path))


@contextmanager
def mapped(path: Path) -> Generator[None]:
    try:
        yield
    except (apsw.Error, OSError) as error:
        raise store_error(error, path) from error
