"""Connections to a database whose schema is right: the first one makes it, or brings it to the present version.

The first one also says whether this process belongs to those that share the database: reasoning from other vendors carries
seals, and gateways with different secrets would not open each other's.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Final

from clew.errors import StoreError
from clew.store.postgres.database import PostgresDatabase, describe_url
from clew.store.postgres.partitions import make_partitions
from clew.store.postgres.schema import migrate

_TAKE_SEAL_KEY: Final = "UPDATE clew.state SET seal_key = $1 WHERE seal_key = ANY ($2::text[]) AND seal_key <> $1"
_SEAL_KEY: Final = "SELECT seal_key FROM clew.state"


class Connector:
    """Makes connections to the database, and prepares its schema before the first. Any thread may use it."""

    def __init__(self, url: str, seal_keys: Sequence[str] = ()) -> None:
        """`seal_keys` are the ids of this process's sealing keys, the current one first; none for a process that serves no
        requests."""
        self._url = url
        self._seal_keys = [*seal_keys]
        self._lock = threading.Lock()
        self._is_prepared = False
        self.where = describe_url(url)
        self.clock_offset = 0.0
        """Seconds that the server's clock is ahead of this machine's, as the last connection showed."""

    def connect(self) -> PostgresDatabase:
        """A new connection. Raises psycopg.Error and StoreError."""
        database = PostgresDatabase(self._url)
        self.clock_offset = database.clock_offset
        try:
            with self._lock:
                if not self._is_prepared:
                    migrate(database, self.where)
                    make_partitions(database, time.time())
                    if self._seal_keys:
                        self._check_secret(database)
                    self._is_prepared = True
        except BaseException:
            database.close()
            raise
        return database

    def _check_secret(self, database: PostgresDatabase) -> None:
        """The first gateway of a database leaves the id of its key. One that has this key among its old ones has rotated
        them, and leaves the id of its new one."""
        current = self._seal_keys[0]
        database.run(_TAKE_SEAL_KEY, current, ["", *self._seal_keys])
        if database.value(_SEAL_KEY) != current:
            raise StoreError(
                f"{self.where} is shared by gateways with another secret. Give this gateway the same CLEW_SECRET as the "
                "others have; if it was replaced, the old one belongs behind the new one, with a comma between"
            )
