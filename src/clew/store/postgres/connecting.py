"""Connections to a database whose schema is right: the first one makes it, or brings it to the present version."""

from __future__ import annotations

import threading
import time

from clew.store.postgres.database import PostgresDatabase, describe_url
from clew.store.postgres.partitions import make_partitions
from clew.store.postgres.schema import migrate


class Connector:
    """Connects, from any thread."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = threading.Lock()
        self._is_prepared = False
        self.where = describe_url(url)

    def connect(self) -> PostgresDatabase:
        """Raises psycopg.Error and StoreError."""
        database = PostgresDatabase(self._url)
        try:
            with self._lock:
                if not self._is_prepared:
                    migrate(database, self.where)
                    make_partitions(database, time.time())
                    self._is_prepared = True
        except BaseException:
            database.close()
            raise
        return database
