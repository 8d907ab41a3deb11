"""The store in one PostgreSQL database. Any number of gateways on any number of machines may have it open."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec
import psycopg

from clew.errors import StoreError
from clew.model.turn import TurnRecord
from clew.store.base import DatabaseStore, StoreParts
from clew.store.lookup_memory import LookupMemory
from clew.store.postgres import statements
from clew.store.postgres.connecting import Connector
from clew.store.postgres.database import PostgresDatabase, raising_store_errors
from clew.store.postgres.examine import size_of, verify
from clew.store.postgres.generation import GenerationListener, read_generation
from clew.store.postgres.known_choices import NAME, KnownChoices
from clew.store.postgres.leases import RowLeases, gateways
from clew.store.postgres.lookups import PostgresLookups
from clew.store.postgres.readers import PostgresReaders
from clew.store.postgres.spooling import SpoolWriter
from clew.store.postgres.table_access import PostgresTableRunner
from clew.store.postgres.turns import TurnWrite
from clew.store.postgres.writer import PostgresWriter
from clew.store.spool import Spool, SpooledTurn
from clew.store.table_access import new_shard
from clew.store.turn_content import turn_weight
from clew.store.values import GatewayProcess, Health, RunClaim, StoreFault, StorePlace, StoreSize

CLOCK_DOUBT: Final = 2.0
"""Seconds by which a deletion reaches further, because clocks of several machines are never quite the same."""


class PostgresStore(DatabaseStore[PostgresDatabase]):
    """A `Store`. Opening it makes the schema `clew`, or brings it to the present version. Raises StoreError.

    What `content` and `keep` mean, `clew.store.kinds.open_store` says.
    """

    def __init__(
        self,
        url: str,
        *,
        content: bool = True,
        keep: int | None = 50,
        spool: Path | None = None,
        seal_keys: Sequence[str] = (),
    ) -> None:
        """`spool` is a folder for turns that the database does not take in time. With one, the store is opened also while
        the database is away: its schema is then made with the first connection. `seal_keys` are the ids of the sealing keys
        of a process that serves, the current one first: a process with other keys than all others is refused."""
        self._connector = connector = Connector(url, seal_keys)
        self._where = connector.where
        with raising_store_errors(self._where):
            try:
                connector.connect().close()
            except psycopg.OperationalError:
                if spool is None:
                    raise
        self._row_writer = writer = PostgresWriter(connector.connect, self._where)
        self._row_readers = readers = PostgresReaders(connector.connect, self._where)
        self._row_leases = RowLeases(readers, writer)
        memory = LookupMemory()
        self._choices = KnownChoices(spool.with_name(NAME), self._where) if spool else None
        self._row_lookups = lookups = PostgresLookups(readers, memory, self._choices)
        access = PostgresTableRunner(readers, writer, self._row_leases, new_shard())
        parts = StoreParts[PostgresDatabase](statements, writer, readers, self._row_leases, memory, lookups, access)
        super().__init__(parts, content=content, keep=keep)
        self._spool = SpoolWriter(Spool(spool), self._ship, memory.cache.add) if spool else None
        self._listener = GenerationListener(connector.connect, readers.note_answer, self._forget_read) if spool else None

    @property
    def place(self) -> StorePlace:
        return "shared"

    @property
    def clock_offset(self) -> float:
        return self._connector.clock_offset

    def forget(self, principal: str, thread: str, *, at: float, agents: bool = False) -> Future[bool]:
        """An answer elsewhere that began at about this time, by a clock that differs a little, goes with the thread."""
        return super().forget(principal, thread, at=at + self.clock_offset + CLOCK_DOUBT, agents=agents)

    def close(self) -> None:
        if self._listener:
            self._listener.close()
        self._bodies.close()
        self._row_leases.close()
        self._writer.close()
        if self._spool:
            self._spool.close()
        self._readers.close()

    def _write_turn(self, turn: TurnRecord, *, readable: bool, lazily: bool, brought_back: bool) -> Future[bool]:
        is_open = turn.exchange.outcome == "open"
        spool = None if is_open or brought_back else self._spool
        if spool and spool.holds(turn):
            return spool.keep(turn, readable=readable)
        process = self._row_leases.reserve() if is_open and not brought_back else ""
        write = TurnWrite(turn, process=process, readable=readable, brought_back=brought_back, shard=self.shard)
        recorded = self._writer.submit(write, weight=turn_weight(turn), lazily=lazily)
        return spool.follow(recorded, turn, readable=readable) if spool else recorded

    def _forget_read(self) -> None:
        """Remember only what this machine alone has, and the pins."""
        self.clear_memory()
        self._row_lookups.remember_pinned()
        if self._spool:
            self._spool.remember_waiting()

    def _ship(self, kept: SpooledTurn) -> Future[bool]:
        """Send a turn from the spool to the database."""
        return self._writer.submit(TurnWrite(kept.turn, process="", readable=kept.readable, shard=self.shard))

    def claim_calls(self, claim: RunClaim, *, at: float, here: bool) -> Future[bool]:
        process = self._row_leases.reserve() if here else ""
        return self._writer.submit(lambda database: statements.claim_calls(database, claim, process, at))

    def settings(self, scope: str = "") -> dict[str, str]:
        """While the database is away, what was chosen for all requests stays."""
        try:
            found = super().settings(scope)
        except StoreError:
            if scope or self._choices is None or not self._choices.settings:
                raise
            return {**self._choices.settings}
        if self._choices and not scope:
            self._choices.note_settings(found)
        return found

    def announce(self, process: GatewayProcess) -> None:
        self._row_leases.announce(process)

    def gateways(self) -> list[GatewayProcess]:
        return self._readers.read(gateways)

    def changes(self) -> int:
        """A process that serves knows it without asking."""
        if self._listener is None or not self._listener.generation:
            return self._readers.read(read_generation)
        return max(self._listener.generation, self._row_writer.generation)

    def data_version(self) -> int:
        """Every transaction that writes changes the snapshot when it begins and when it ends. Those of other databases
        of the server do too, so this says that something may be new."""
        snapshot = self._readers.read(PostgresDatabase.value, "SELECT pg_current_snapshot()::text")
        return int.from_bytes(sha256(str(snapshot).encode()).digest()[:6])

    def describe(self) -> str:
        return self._where

    def health(self) -> Health:
        """Degraded also where the server says nothing, which nobody else notices for some seconds."""
        found, spool = super().health(), self._spool
        if spool is None:
            return found
        if spool.is_away and found.state == "ok":
            found = msgspec.structs.replace(found, state="degraded", why=f"{self._where} does not answer in time")
        return msgspec.structs.replace(found, local=spool.local)

    def size(self) -> StoreSize:
        return StoreSize(bytes=self._readers.read(size_of))

    def verify(self) -> tuple[StoreFault, ...]:
        return self._row_readers.read_without_limit(verify, self._where)
