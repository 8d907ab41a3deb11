"""The generation: a number that rises with every change that running gateways have to take over.

It rises in the transaction of the change itself, which also notifies those who listen. A notification can be lost with a
connection, and a transaction pooler passes none on, so every gateway reads the number each second besides. Turns never raise
it: PostgreSQL lets transactions that notify commit one after the other.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from time import monotonic
from typing import Final

import psycopg

from clew.errors import StoreError
from clew.store.postgres.database import PostgresDatabase

_log = logging.getLogger("clew.store")

CHANNEL: Final = "clew"
POLL_SECONDS: Final = 1.0
POOLED_POLL_SECONDS: Final = 0.5
"""Behind a transaction pooler nothing is heard, only read."""
SILENT_REPLY_SECONDS: Final = 5.0
"""That a reply may take before the connection is made again."""
SILENT_SECONDS: Final = 60.0
"""After so long without word from the database, nothing that it has is remembered any more: another gateway may have deleted
some of it. A standby takes over sooner than that."""

_RAISE: Final = f"""
WITH raised AS (UPDATE clew.state SET generation = generation + 1 RETURNING generation)
SELECT generation, pg_notify('{CHANNEL}', generation::text)::text FROM raised
"""  # noqa: S608  (a constant)
_READ: Final = "SELECT generation FROM clew.state"


def raise_generation(database: PostgresDatabase) -> int:
    """The new one. In the transaction of a change, as its last statement: the row is locked until the commit."""
    raised = database.value(_RAISE)
    return raised if isinstance(raised, int) else 0


def read_generation(database: PostgresDatabase) -> int:
    found = database.value(_READ)
    return found if isinstance(found, int) else 0


class GenerationListener:
    """Knows the generation without asking: a thread with a connection of its own listens, and reads each second."""

    def __init__(
        self, connect: Callable[[], PostgresDatabase], answered: Callable[[], None], silent: Callable[[], None]
    ) -> None:
        """`answered` is called each time that the database answers, `silent` when it has not for some seconds."""
        self._connect = connect
        self._answered = answered
        self._silent = silent
        self._ended = threading.Event()
        self._database: PostgresDatabase | None = None
        self.generation = 0
        """0 before it was first read."""
        self.is_listening = False
        """Whether notifications arrive: not through a transaction pooler."""
        self._heard_at = monotonic()
        self._thread = threading.Thread(target=self._work, name="clew store news", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._ended.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._ended.is_set():
            try:
                self._listen()
            except (psycopg.Error, StoreError) as error:
                _log.debug("the connection for notifications of the database failed: %s", error)
                self._note_silence()
                self._ended.wait(POLL_SECONDS)
            finally:
                if self._database is not None:
                    self._database.close()
                    self._database = None

    def _listen(self) -> None:
        """Read the generation and wait for notifications, until the connection breaks or the listener is closed."""
        self._database = database = self._connect()
        self.is_listening = not database.is_pooled
        if self.is_listening:
            database.run_script(f"LISTEN {CHANNEL}")
        while not self._ended.is_set():
            with database.limited(SILENT_REPLY_SECONDS):
                self.generation = read_generation(database)
            self._heard_at = monotonic()
            self._answered()
            if not self.is_listening:
                self._ended.wait(POOLED_POLL_SECONDS)
                continue
            end = monotonic() + POLL_SECONDS
            while not self._ended.is_set() and (left := end - monotonic()) > 0:
                if [*database.connection.notifies(timeout=min(left, 0.25), stop_after=1)]:
                    break

    def _note_silence(self) -> None:
        if monotonic() - self._heard_at > SILENT_SECONDS:
            self._heard_at = monotonic()
            self._silent()
