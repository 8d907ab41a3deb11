"""The store in one SQLite file: a kind of store, and where such a store is.

The code that opens or examines the file is imported when it is needed: the status line only needs to know where the file is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from clew.model.turn import Exchange
    from clew.store.kinds import StoreFinding
    from clew.store.sqlite.readers import SqliteQuickLook
    from clew.store.sqlite.store import SqliteStore
    from clew.store.sqlite.tables import SqliteTables
    from clew.store.values import ClockDoubt

__all__ = ["KIND", "USUAL_FILE", "SqliteKind", "SqliteLocation"]

USUAL_FILE: Final = "clew.db"


class SqliteLocation(NamedTuple):
    """A `StoreLocation`: a file, which may be there or not."""

    file: Path

    def describe(self) -> str:
        return str(self.file)

    def exists(self) -> bool:
        return self.file.exists()

    def is_readable(self) -> bool:
        return self.file.is_file()

    def files(self) -> tuple[Path, ...]:
        return tuple(self.file.with_name(self.file.name + end) for end in ("", "-wal", "-shm"))

    def open(self, *, content: bool, bodies: int | None, serves: bool = False, seal_keys: Sequence[str] = ()) -> SqliteStore:
        from clew.store.sqlite.store import SqliteStore

        return SqliteStore(self.file, content=content, keep=bodies)

    def tables(self) -> AbstractContextManager[SqliteTables]:
        from clew.store.sqlite.tables import open_tables

        return open_tables(self.file)

    @property
    def is_shared(self) -> bool:
        return False

    def quick_look(self) -> SqliteQuickLook:
        from clew.store.sqlite.readers import SqliteQuickLook

        return SqliteQuickLook(self.file)

    def examine(self, now: float) -> Iterator[StoreFinding]:
        from clew.store.sqlite.examine import examine_file

        return examine_file(self.file, now)

    def has_answers(self) -> bool:
        from clew.store.sqlite.examine import has_answers

        return has_answers(self.file)

    def clock_doubt(self, now: float) -> ClockDoubt | None:
        from clew.store.sqlite.examine import clock_doubt_in

        return clock_doubt_in(self.file, now)

    def last_exchanges(self, principals: Iterable[str], limit: int) -> list[Exchange]:
        from clew.store.sqlite.examine import last_exchanges

        return last_exchanges(self.file, principals, limit)


class SqliteKind:
    """A `StoreKind`."""

    program: Final = "The SQLite that is linked does not damage stores."

    def examine_program(self) -> Iterator[StoreFinding]:
        from clew.store.sqlite.examine import examine_library

        return examine_library()

    def locate(self, address: str, root: Path) -> SqliteLocation:
        """`address` is a path."""
        return SqliteLocation(root / Path(address).expanduser() if address else root / USUAL_FILE)


KIND: Final = SqliteKind()
