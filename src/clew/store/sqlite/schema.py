"""Bringing a file to the present schema.

The number of steps done is the file's `user_version`; `application_id` says that the file is ours at all. All missing steps
run in one transaction, so a crash leaves the old schema or the new one.
"""

from __future__ import annotations

from pathlib import Path

from clew.errors import RecordCorrupt, SchemaTooNew
from clew.store.sqlite.connection import immediate
from clew.store.sqlite.database import Database
from clew.store.sqlite.migrations import MIGRATIONS

__all__ = ["APPLICATION", "migrate"]

APPLICATION = 0x636C6577
"""`clew`, in the header of the file: so that another program's database is not taken for a store."""


def migrate(connection: Database, path: Path) -> None:
    """Bring a file to the present schema. Raises SchemaTooNew, and RecordCorrupt for a database that is not ours."""
    if _version(connection, path) == len(MIGRATIONS):
        return
    with immediate(connection):
        for step in MIGRATIONS[_version(connection, path) :]:  # asked again: another process may have been first
            step(connection)
        connection.pragma("application_id", APPLICATION)
        connection.pragma("user_version", len(MIGRATIONS))


def _version(connection: Database, path: Path) -> int:
    version, owner = connection.pragma("user_version"), connection.pragma("application_id")
    assert isinstance(version, int)
    if owner != APPLICATION and (owner or version or connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").get):
        raise RecordCorrupt(
            f"{path} is another program's database, not a store of clew: name another file, or move it away",
            file=str(path),
        )
    if version > len(MIGRATIONS):
        raise SchemaTooNew(
            f"{path} has schema {version}, written by a newer clew; this one knows up to {len(MIGRATIONS)}: "
            "update clew, or name another file",
            file=str(path),
        )
    return version
