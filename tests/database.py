"""A store's file: opened by somebody who knows nothing of its store, and copied."""

import tempfile
from functools import lru_cache
from pathlib import Path

import apsw

from clew.store.sqlite.store import SqliteStore

__all__ = ["connected", "leave_empty_store"]

PATIENCE = 10_000
"""Milliseconds. Anyone who has the store open may be writing, also when nobody asked: it keeps house, and what was seen."""


def leave_empty_store(path: Path) -> None:
    """Where there is no store yet, copy one that has its tables and nothing in them: that takes a third of the time to make it."""
    if not path.exists():
        path.write_bytes(_empty_store())
        path.chmod(0o600)


@lru_cache
def _empty_store() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clew.db"
        SqliteStore(path).close()
        return path.read_bytes()


def connected(path: Path) -> apsw.Connection:
    connection = apsw.Connection(str(path))
    connection.set_busy_timeout(PATIENCE)
    return connection
