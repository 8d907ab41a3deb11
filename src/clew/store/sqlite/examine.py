"""The store: the SQLite that is linked, the schema, and whether the file is sound. Opened to read, never to migrate."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import apsw

from clew.errors import RecordCorrupt, StoreError
from clew.store.doubt import Doubt
from clew.store.location import StoreFinding
from clew.store.size import size_in_words
from clew.store.sqlite import look
from clew.store.sqlite.clock import doubt_at
from clew.store.sqlite.connection import OLDEST_SQLITE, connect
from clew.store.sqlite.database import Database
from clew.store.sqlite.foreign import mapped
from clew.store.sqlite.migrations import MIGRATIONS
from clew.store.sqlite.schema import APPLICATION
from clew.store.sqlite.size import store_bytes
from clew.store.sqlite.verify import verify
from clew.store.values import Exchange

__all__ = ["clock_doubt", "examine_file", "examine_library", "has_answers", "last_exchanges"]

FUTURE_SECONDS: Final = 3600.0
READ_WHOLE: Final = 64 << 20
"""Bytes of a store that is read through, which takes some seconds. Larger ones get SQLite's own check alone."""

_RESTORE: Final = "stop clew, move the file away, and start again with a new one, or with a backup"


def examine_library() -> Iterator[StoreFinding]:
    """Old versions can damage a store that several processes use."""
    linked = apsw.sqlite_lib_version()
    oldest = ".".join(map(str, OLDEST_SQLITE))
    if tuple(int(part) for part in linked.split(".")) < OLDEST_SQLITE:
        yield _broken(
            f"SQLite {linked} is linked, which can damage the store", f"install apsw {oldest} or newer, as a wheel"
        )
    else:
        yield _fine(f"SQLite {linked} ({oldest} or newer is needed)")


def examine_file(path: Path, now: float) -> Iterator[StoreFinding]:
    """The schema is ours, SQLite's quick check finds nothing, and what is kept agrees with itself."""
    if path.exists() and not path.is_file():
        yield _broken(
            f"{path} is a directory or a device, not a file", "move it away, or name another file in `[store] url`"
        )
    elif not path.exists():
        yield _fine(f"{path} is not there yet; it is made at the first start")
    else:
        yield from _examined(path)
        yield from _times(path, now)


def _examined(path: Path) -> Iterator[StoreFinding]:
    try:
        with _reading(path) as connection:
            yield from [*_schema(connection, path), *_sound(connection, path)]
    except RecordCorrupt as error:
        yield _broken(str(error), _RESTORE)
    except StoreError as error:  # the file is sound for all that is known, so it stays where it is
        yield _broken(str(error), "")


def has_answers(path: Path) -> bool:
    """Whether anything was ever recorded in it; of a file that cannot be read, so it is supposed."""
    try:
        with _reading(path) as connection:
            return bool([*connection.execute("SELECT 1 FROM recordings LIMIT 1")])
    except StoreError:
        return True


def clock_doubt(path: Path, now: float) -> Doubt | None:
    """Why the clock may be wrong, by what the store has seen of it. Raises StoreError."""
    with _reading(path) as connection:
        return doubt_at(connection, now)


def last_exchanges(path: Path, principals: Iterable[str], limit: int) -> list[Exchange]:
    """The last of each of these principals; none from a file of another schema. Raises StoreError."""
    with _reading(path) as connection:
        if connection.pragma("user_version") != len(MIGRATIONS):
            return []
        return [each for principal in principals for each, _ in look.exchanges(connection, principal, None, limit)]


@contextmanager
def _reading(path: Path) -> Generator[Database]:
    with mapped(path):
        connection = connect(path, read_only=True, busy=1.0)
        try:
            yield connection
        finally:
            connection.close()


def _schema(connection: Database, path: Path) -> Iterator[StoreFinding]:
    version = connection.pragma("user_version")
    assert isinstance(version, int)
    has_tables = connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").get is not None
    if connection.pragma("application_id") != APPLICATION and (version or has_tables):
        yield _broken(f"{path} is no store of clew's", "name another file in `[store] url`")
    elif version > len(MIGRATIONS):
        yield _broken(
            f"{path} was written by a newer clew (schema {version}, this one knows {len(MIGRATIONS)})", "update clew"
        )
    elif version < len(MIGRATIONS):
        yield _fine(f"{path} has schema {version}; the next start brings it to {len(MIGRATIONS)}")
    else:
        yield _fine(f"{path}: schema {version}, {size_in_words(store_bytes(path))}")


def _sound(connection: Database, path: Path) -> Iterator[StoreFinding]:
    """Whether pages are sound; of a store that is not too large for a moment's reading, whether all that it holds agrees."""
    faults = [str(row[0]) for row in connection.execute("PRAGMA quick_check(5)")]
    if faults != ["ok"]:
        yield _broken(f"{path} is damaged: {'; '.join(faults)[:500]}", _RESTORE)
    elif connection.pragma("user_version") == len(MIGRATIONS) and path.stat().st_size <= READ_WHOLE:
        yield from _agreeing(connection, path)


def _agreeing(connection: Database, path: Path) -> Iterator[StoreFinding]:
    faults = verify(connection)
    if faults:
        told = "; ".join(f"{fault.record}: {fault.what}" if fault.record else fault.what for fault in faults[:3])
        more = f", and {len(faults) - 3} more" if len(faults) > 3 else ""
        yield _broken(f"{path} has faults: {told[:500]}{more}", _RESTORE)


def _times(path: Path, now: float) -> Iterator[StoreFinding]:
    ahead = path.stat().st_mtime - now
    if ahead > FUTURE_SECONDS:
        yield _warning(f"{path} was written {ahead / 3600:.0f} hours in the future", "set this machine's clock")


def _fine(says: str) -> StoreFinding:
    return StoreFinding("ok", says)


def _warning(says: str, repair: str) -> StoreFinding:
    return StoreFinding("warning", says, repair)


def _broken(says: str, repair: str) -> StoreFinding:
    return StoreFinding("broken", says, repair)
