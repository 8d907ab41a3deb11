"""A store's file, opened by somebody who knows nothing of its store."""

from pathlib import Path

import apsw

__all__ = ["connected"]

PATIENCE = 10_000
"""Milliseconds. Whoever has the store open may be writing, also when nobody asked: it keeps house, and what was seen."""


def connected(path: Path) -> apsw.Connection:
    connection = apsw.Connection(str(path))
    connection.set_busy_timeout(PATIENCE)
    return connection
