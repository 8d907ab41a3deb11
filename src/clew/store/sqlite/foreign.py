"""The border: SQLite's exceptions and the file system's become ours here, with what was wrong and what helps."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import apsw
import msgspec

from clew.errors import RecordCorrupt, StoreError

__all__ = ["UNREADABLE", "mapped", "store_error"]

_RIGHTS: Final = "check the rights of the file and of its directory, and that its file system can be written"
_WORDS: dict[type[apsw.Error], str] = {
    apsw.BusyError: "is busy: it is locked by another process; if that hangs, end it",
    apsw.FullError: "cannot grow: the disk is full; free some space, nothing is lost but what was not committed",
    apsw.ReadOnlyError: f"cannot be written; {_RIGHTS}",
    apsw.CantOpenError: f"cannot be opened; {_RIGHTS}",
    apsw.PermissionsError: f"may not be used; {_RIGHTS}",
    apsw.IOError: "cannot be written or read: the disk reports an error",
}
UNREADABLE: Final = (UnicodeDecodeError, msgspec.MsgspecError)
"""What is raised for a row that SQLite takes for sound, and that holds what nobody wrote."""
_DAMAGED = (apsw.CorruptError, apsw.NotADBError, apsw.SQLError, *UNREADABLE)
"""Our statements are right, so what SQLite refuses of them is a table or a column that is not there any more."""
_NEXT: Final = "`clew doctor` says more; stop clew and move it away (a start makes a new one), or put a backup in its place"


def store_error(error: Exception, path: Path) -> StoreError:
    """Our error for a foreign one; ours as it is."""
    if isinstance(error, StoreError):
        return error
    if isinstance(error, _DAMAGED):
        return RecordCorrupt(f"{path} is damaged, or no store ({' '.join(str(error).split())}): {_NEXT}", file=str(path))
    if isinstance(error, OSError):
        return StoreError(f"{path} cannot be used: {error.filename}: {error.strerror}; {_RIGHTS}", file=str(path))
    words = next((words for type, words in _WORDS.items() if isinstance(error, type)), "failed")
    return StoreError(f"{path} {words} ({error})", file=str(path))


@contextmanager
def mapped(path: Path) -> Generator[None]:
    try:
        yield
    except (apsw.Error, OSError, *UNREADABLE) as error:
        raise store_error(error, path) from error
