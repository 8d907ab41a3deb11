"""Which processes live, on whichever machine, and which agent run has the tool calls of an answer.

A process that keeps an open turn has a row with a time until which it counts as living, by the server's clock. It moves that
time on every few seconds; a process that was killed stops doing so. That a run has the calls of an answer is one row among
the settings, written in the transaction that checks whether another run has them.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import Future
from typing import Final

from clew.errors import StoreError
from clew.store.postgres.database import PostgresDatabase, typed_row
from clew.store.postgres.readers import PostgresReaders
from clew.store.postgres.settings import set_setting
from clew.store.postgres.writer import PostgresWriter
from clew.store.values import CallOwner, GatewayProcess, RunClaim

LEASE_SECONDS: Final = 15
BEAT_SECONDS: Final = 5.0

_COLUMNS: Final = ("name", "machine", "pid", "address", "version", "config", "active", "problem", "taken")
_BEAT: Final = f"""
INSERT INTO clew.processes (id, until, {", ".join(_COLUMNS)})
VALUES ($1, clock_timestamp() + interval '{LEASE_SECONDS} seconds', $2, $3, $4, $5, $6, $7, $8, $9, $10)
ON CONFLICT (id) DO UPDATE SET until = excluded.until, {", ".join(f"{name} = excluded.{name}" for name in _COLUMNS)}
"""  # noqa: S608  (constants)
_GATEWAYS: Final = f"""
SELECT {", ".join(_COLUMNS)} FROM clew.processes WHERE name <> '' AND until > clock_timestamp() ORDER BY name, machine, pid
"""  # noqa: S608  (constants)
_HELD: Final = "SELECT 1 FROM clew.processes WHERE id = $1 AND until > clock_timestamp()"
_ENDED: Final = "DELETE FROM clew.processes WHERE id = $1 OR until < clock_timestamp() - interval '1 day'"

_NAME: Final = "calls-begun:"
_VALUE: Final = "SELECT value FROM clew.settings WHERE scope = $1 AND name = $2"
_FOLLOWERS: Final = """
SELECT count(*) FROM clew.exchanges JOIN clew.recordings
    ON recordings.principal = exchanges.principal AND recordings.id = recording
WHERE exchanges.principal = $1 AND exchanges.thread = $2 AND recordings.followed = $3
"""
_NO_PROCESS: Final = "-"


class RowLeases:
    """The lease of one process. A thread of its own moves it on once there is a name."""

    def __init__(self, readers: PostgresReaders, writer: PostgresWriter) -> None:
        self._readers = readers
        self._writer = writer
        self._name = ""
        self._announced = GatewayProcess(name="")
        self._begun: Future[int] | None = None
        self._ended = threading.Event()
        self._lock = threading.Lock()

    def name(self) -> str:
        """By which other processes find this one. Waits for its row to be committed. Raises StoreError."""
        name = self.reserve()
        if self._begun is not None:
            self._begun.result()
        return name

    def reserve(self) -> str:
        """The name, without waiting: its row is on its way to the database ahead of whatever is submitted from now on."""
        with self._lock:
            if not self._name:
                self._name = os.urandom(8).hex()
                self._begun = self._beat(self._name)
                threading.Thread(target=self._work, name="clew store lease", daemon=True).start()
            return self._name

    def announce(self, process: GatewayProcess) -> None:
        """Let others see this process, at once where something about it is new."""
        if process == self._announced:
            return
        self._announced = process
        if self._name:
            self._beat(self._name)
        else:
            self.reserve()

    def is_held(self, name: str) -> bool:
        if not name:
            return False
        return self._readers.read(is_held, name)

    def close(self) -> None:
        """Give the lease up. Call it before the writer is closed."""
        self._ended.set()
        if self._name:
            name, self._name = self._name, ""
            try:
                self._writer.submit(lambda database: database.run(_ENDED, name)).result()
            except StoreError:  # the lease ends by itself
                return

    def _work(self) -> None:
        while not self._ended.wait(BEAT_SECONDS):
            self._beat(self._name)

    def _beat(self, name: str) -> Future[int]:
        process = self._announced
        values = [getattr(process, column) for column in _COLUMNS]
        return self._writer.submit(lambda database: database.run(_BEAT, name, *values))


def gateways(database: PostgresDatabase) -> list[GatewayProcess]:
    """The processes that announced themselves and live."""
    return [typed_row(GatewayProcess, row) for row in database.named_rows(_GATEWAYS)]


def is_held(database: PostgresDatabase, name: str) -> bool:
    return database.value(_HELD, name) is not None


def call_owner(database: PostgresDatabase, principal: str, thread: str) -> CallOwner:
    value = database.value(_VALUE, principal, f"{_NAME}{thread}")
    turn, run, process = [*str(value or "").split(" "), "", ""][:3]
    return CallOwner(turn, run, process.removeprefix(_NO_PROCESS))


def claim_calls(database: PostgresDatabase, claim: RunClaim, process: str, at: float) -> bool:
    """False if another run was first. Without a process it is not known how long the claim lasts."""
    # Two gateways ask at the same moment: the second waits here until the first has committed.
    database.rows("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", f"{claim.principal} {claim.thread}")
    if claim.followers is not None:
        owner = call_owner(database, claim.principal, claim.thread)
        if owner.turn == claim.turn and owner.run != claim.was:
            return False
        if database.value(_FOLLOWERS, claim.principal, claim.thread, claim.turn) != claim.followers:
            return False
    value = " ".join((claim.turn, claim.run, process or _NO_PROCESS))
    set_setting(database, claim.principal, f"{_NAME}{claim.thread}", value, at)
    return True


def abandon_calls(database: PostgresDatabase, claim: RunClaim, at: float) -> None:
    """The run stopped, and its calls have no results."""
    if call_owner(database, claim.principal, claim.thread)[:2] == (claim.turn, claim.run):
        claim_calls(database, claim._replace(followers=None), "", at)


def finish_calls(database: PostgresDatabase, claim: RunClaim) -> None:
    """Nothing is left of the calls that this run began, or found begun."""
    if claim.followers is None or call_owner(database, claim.principal, claim.thread).run in (claim.run, claim.was):
        set_setting(database, claim.principal, f"{_NAME}{claim.thread}", None, 0.0)
