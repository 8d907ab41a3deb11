"""The store: the SQLite that is linked, the schema, and whether the file is sound. Opened to read, never to migrate."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import apsw

from clew.admin.checkup.finding import Circumstances, Finding, broken, fine, warning
from clew.errors import RecordCorrupt, StoreError
from clew.store.clock import Doubt, doubt_at
from clew.store.connection import OLDEST_SQLITE, connect
from clew.store.database import Database
from clew.store.foreign import mapped
from clew.store.migrations import MIGRATIONS
from clew.store.schema import APPLICATION
from clew.store.size import size_in_words, store_bytes
from clew.store.verify import verify

__all__ = ["clock_doubt", "has_answers", "sqlite", "store"]

FUTURE_SECONDS: Final = 3600.0
READ_WHOLE: Final = 64 << 20
"""Bytes of a store that is read through, which takes some seconds. Larger ones get SQLite's own check alone."""

_RESTORE: Final = "stop clew, move the file away, and start again with a new one, or with a backup"


def sqlite(at: Circumstances) -> Iterator[Finding]:
    """Old versions can damage a store that several processes use."""
    linked = apsw.sqlite_lib_version()
    oldest = ".".join(map(str, OLDEST_SQLITE))
    if tuple(int(part) for part in linked.split(".")) < OLDEST_SQLITE:
        yield broken(f"SQLite {linked} is linked, which can damage the store", f"install apsw {oldest} or newer, as a wheel")
    else:
        yield fine(f"SQLite {linked} ({oldest} or newer is needed)")


def store(at: Circumstances) -> Iterator[Finding]:
    """The schema is ours, SQLite's quick check finds nothing, and what is kept agrees with itself."""
    path = at.store
    if path is None:
        yield fine('switched off: `[store] url = "off"`')
    elif path.exists() and not path.is_file():
        yield broken(f"{path} is a directory or a device, not a file", "move it away, or name another file in `[store] url`")
    elif not path.exists():
        yield fine(f"{path} is not there yet; it is made at the first start")
    else:
        yield from _examined(path)
        yield from _times(path, at.now)


def _examined(path: Path) -> Iterator[Finding]:
    try:
        with mapped(path):
            connection = connect(path, read_only=True, busy=1.0)
            try:
                yield from [*_schema(connection, path), *_sound(connection, path)]
            finally:
                connection.close()
    except RecordCorrupt as error:
        yield broken(str(error), _RESTORE)
    except StoreError as error:  # the file is sound for all that is known, so it stays where it is
        yield broken(str(error), "")


def has_answers(path: Path) -> bool:
    """Whether anything was ever heard into it; of a file that cannot be read, so it is supposed."""
    try:
        with mapped(path):
            connection = connect(path, read_only=True, busy=1.0)
            try:
                return bool([*connection.execute("SELECT 1 FROM recordings LIMIT 1")])
            finally:
                connection.close()
    except StoreError:
        return True


def clock_doubt(path: Path, now: float) -> Doubt | None:
    """Why the clock may be wrong, by what the store has seen of it. Raises StoreError."""
    with mapped(path):
        connection = connect(path, read_only=True, busy=1.0)
        try:
            return doubt_at(connection, now)
        finally:
            connection.close()


def _schema(connection: Database, path: Path) -> Iterator[Finding]:
    version = connection.pragma("user_version")
    assert isinstance(version, int)
    has_tables = connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").get is not None
    if connection.pragma("application_id") != APPLICATION and (version or has_tables):
        yield broken(f"{path} is no store of clew's", "name another file in `[store] url`")
    elif version > len(MIGRATIONS):
        yield broken(
            f"{path} was written by a newer clew (schema {version}, this one knows {len(MIGRATIONS)})", "update clew"
        )
    elif version < len(MIGRATIONS):
        yield fine(f"{path} has schema {version}; the next start brings it to {len(MIGRATIONS)}")
    else:
        yield fine(f"{path}: schema {version}, {size_in_words(store_bytes(path))}")


def _sound(connection: Database, path: Path) -> Iterator[Finding]:
    """Whether pages are sound; of a store that is not too large for a moment's reading, whether all that it holds agrees."""
    faults = [str(row[0]) for row in connection.execute("PRAGMA quick_check(5)")]
    if faults != ["ok"]:
        yield broken(f"{path} is damaged: {'; '.join(faults)[:500]}", _RESTORE)
    elif connection.pragma("user_version") == len(MIGRATIONS) and path.stat().st_size <= READ_WHOLE:
        yield from _agreeing(connection, path)


def _agreeing(connection: Database, path: Path) -> Iterator[Finding]:
    faults = verify(connection)
    if faults:
        told = "; ".join(f"{fault.record}: {fault.what}" if fault.record else fault.what for fault in faults[:3])
        more = f", and {len(faults) - 3} more" if len(faults) > 3 else ""
        yield broken(f"{path} has faults: {told[:500]}{more}", _RESTORE)


def _times(path: Path, now: float) -> Iterator[Finding]:
    ahead = path.stat().st_mtime - now
    if ahead > FUTURE_SECONDS:
        yield warning(f"{path} was written {ahead / 3600:.0f} hours in the future", "set this machine's clock")
