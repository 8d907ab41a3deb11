"""The store in one PostgreSQL database. Any number of gateways on any number of machines may have it open."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import msgspec
import psycopg

from clew.errors import StoreError
from clew.model.recording import Recordings
from clew.model.turn import Bodies, Exchange, TurnRecord
from clew.store.batches import LONG_DELAY, run_in_steps
from clew.store.body_writer import BodyRow, BodyWriter
from clew.store.deletion_notes import Deletion
from clew.store.lookup_memory import LookupMemory
from clew.store.postgres import bodies as body_rows
from clew.store.postgres import deletions, leases, queries, search, turns
from clew.store.postgres import settings as choices
from clew.store.postgres.connecting import Connector
from clew.store.postgres.database import PostgresDatabase, raising_store_errors
from clew.store.postgres.examine import size_of, verify
from clew.store.postgres.lookups import PostgresLookups
from clew.store.postgres.readers import PostgresReaders
from clew.store.postgres.retention import apply_retention, check_clock
from clew.store.postgres.spooling import SpoolWriter
from clew.store.postgres.writer import PostgresWriter
from clew.store.protocols import IDLE
from clew.store.spool import Spool, SpooledTurn
from clew.store.touches import TouchBatch
from clew.store.turn_content import turn_weight, without_content
from clew.store.values import (
    Branch,
    CallOwner,
    ClockDoubt,
    Days,
    Deletions,
    Health,
    Hit,
    Lookup,
    LookupResult,
    NativePassage,
    Passage,
    Retention,
    RunClaim,
    Statistics,
    StoreFault,
    StoreSize,
    Thread,
    UsageTotal,
)

PATIENCE: Final = 10.0
"""Seconds that a search waits for one step of the index, and a request for a turn that is being written."""


class PostgresStore:
    """A `Store`. Opening it makes the schema `clew`, or brings it to the present version. Raises StoreError.

    What `content` and `keep` mean, `clew.store.kinds.open_store` says.
    """

    def __init__(self, url: str, *, content: bool = True, keep: int | None = 50, spool: Path | None = None) -> None:
        """`spool` is a folder for turns that the database does not take in time. With one, the store is opened also while
        the database is away: its schema is then made with the first connection."""
        connector = Connector(url)
        self._where = connector.where
        self._content = content
        with raising_store_errors(self._where):
            try:
                connector.connect().close()
            except psycopg.OperationalError:
                if spool is None:
                    raise
        self._writer = PostgresWriter(connector.connect, self._where)
        self._readers = PostgresReaders(connector.connect, self._where)
        self.leases = leases.RowLeases(self._readers, self._writer)
        self._bodies = BodyWriter(self._write_bodies, keep, LONG_DELAY)
        submit_lazily = partial(self._writer.submit, lazily=True, delay=LONG_DELAY)
        self._touches = TouchBatch[PostgresDatabase](submit_lazily, turns.touch)
        self._memory = LookupMemory()
        self._lookups = PostgresLookups(self._readers, self._memory)
        self._natives: dict[tuple[str, str], Future[bool]] = {}
        """Turns in clients' dialects that are being written, by principal and exchange."""
        self._spool = SpoolWriter(Spool(spool), self._ship, self._memory.cache.add) if spool else None

    def _ship(self, kept: SpooledTurn) -> Future[bool]:
        """Send a turn from the spool to the database."""
        return self._writer.submit(turns.TurnWrite(kept.turn, process="", readable=kept.readable))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._bodies.close()
        self.leases.close()
        self._writer.close()
        if self._spool:
            self._spool.close()
        self._readers.close()

    # Recordings

    def record(self, turn: TurnRecord, *, brought_back: bool = False) -> Future[bool]:
        return self._record(turn, lazily=False, brought_back=brought_back)

    def record_open(self, turn: TurnRecord) -> Future[bool]:
        return self._record(turn, lazily=True)

    def _record(self, turn: TurnRecord, *, lazily: bool, brought_back: bool = False) -> Future[bool]:
        exchange, readable = turn.exchange, self._content
        kept = turn if readable else without_content(turn)
        recording, is_open = kept.recording, exchange.outcome == "open"
        if recording is not None:
            assert (recording.principal, recording.thread) == (exchange.principal, exchange.thread)

        process = self.leases.reserve() if is_open and not brought_back else ""
        write = turns.TurnWrite(kept, process=process, readable=readable, brought_back=brought_back)
        recorded = self._writer.submit(write, weight=turn_weight(kept), lazily=lazily)
        if self._spool and not is_open and not brought_back:
            recorded = self._spool.follow(recorded, kept, readable=readable)
        self._bodies.follow(recorded, kept)
        if recording is not None:
            self._memory.expect(recording, recorded, remembers=not is_open and not brought_back)
        if kept.native is not None:
            name = (exchange.principal, exchange.id)
            self._natives[name] = recorded
            recorded.add_done_callback(lambda _: self._natives.pop(name, None))
        return recorded

    def touch(
        self,
        principal: str,
        *,
        keys: Iterable[bytes] = (),
        recordings: Iterable[str] = (),
        at: float,
        lazily: bool = False,
    ) -> Future[None]:
        if lazily:
            return self._touches.add(principal, keys, recordings, at)
        blocks, ids = tuple(keys), tuple(recordings)
        weight = 64 * (len(blocks) + len(ids))
        return self._writer.submit(lambda connection: turns.touch(connection, principal, blocks, ids, at), weight=weight)

    def recordings(self, principal: str) -> Recordings:
        return self._lookups.finder(principal)

    def gather(self, wanted: Lookup, check: Callable[[], None] = lambda: None) -> LookupResult:
        return self._lookups.gather(wanted, check)

    def recall(self, wanted: Lookup) -> LookupResult | None:
        return self._memory.recall(wanted)

    # Threads

    def threads(self, principal: str, *, limit: int = 100, before: float | None = None, starting: str = "") -> list[Thread]:
        return self._readers.read(queries.threads, principal, limit, before, starting)

    def thread(self, principal: str, id: str) -> Thread | None:
        return self._readers.read(queries.thread, principal, id)

    def sibling_threads(self, principal: str, thread: str) -> list[Thread]:
        return self._readers.read(queries.sibling_threads, principal, thread)

    def thread_of(self, principal: str, session: str, agent: str) -> str | None:
        return self._readers.read(queries.thread_of, principal, session, agent)

    def pin(self, principal: str, thread: str, backend: str) -> Future[bool]:
        pinned = self._writer.submit(lambda connection: choices.pin(connection, principal, thread, backend))
        pinned.add_done_callback(lambda _: self._memory.pins.clear())
        return pinned

    def pin_of(self, principal: str, thread: str) -> str:
        return self._readers.read(queries.pin_of, principal, thread)

    def pinned(self, principal: str, *, limit: int = 100) -> list[Thread]:
        return self._readers.read(queries.pinned, principal, limit)

    def rename(self, principal: str, thread: str, title: str) -> Future[bool]:
        return self._writer.submit(lambda connection: choices.rename(connection, principal, thread, title))

    def passages(self, principal: str, thread: str) -> list[Passage]:
        return self._readers.read(queries.passages, principal, thread)

    def tree(self, principal: str, thread: str) -> list[Branch]:
        return self._readers.read(queries.tree, principal, thread)

    def forget(self, principal: str, thread: str, *, at: float, agents: bool = False) -> Future[bool]:
        deletion = Deletion(principal, thread, at, agents)

        def clear_memory(_: Future[bool]) -> None:  # other processes find out by `deletions`
            self._bodies.forget(principal, thread)
            self._memory.forget(principal, thread)

        def delete_some() -> Future[int]:
            return self._writer.submit(lambda connection: deletions.delete_some_of_thread(connection, deletion))

        def delete_rest() -> Future[bool]:
            deleted = self._writer.submit(lambda connection: deletions.delete_thread(connection, deletion), erases="now")
            deleted.add_done_callback(clear_memory)
            return deleted

        return run_in_steps(delete_some, delete_rest)

    # Turns in clients' dialects

    def native_history(self, principal: str, exchange: str) -> list[NativePassage]:
        self._await_natives(principal, (exchange,))
        return self._readers.read(queries.native_history, principal, exchange)

    def native_turns(self, principal: str, exchanges: Iterable[str]) -> list[NativePassage]:
        names = tuple(exchanges)
        self._await_natives(principal, names)
        return self._readers.read(queries.native_turns, principal, names)

    def _await_natives(self, principal: str, exchanges: Iterable[str]) -> None:
        """An answer whose commit takes longer than it may be held back has reached the client, who may name it now."""
        wait([each for name in exchanges if (each := self._natives.get((principal, name)))], PATIENCE)

    def hide_native_turn(self, principal: str, exchange: str) -> Future[bool]:
        return self._writer.submit(lambda connection: queries.hide_native_turn(connection, principal, exchange))

    # Exchanges, bodies, usage

    def exchanges(
        self, principal: str, *, thread: str | None = None, limit: int = 100, after: str | None = None
    ) -> list[Exchange]:
        found = self._readers.read(queries.exchanges, principal, thread, limit, after)
        return [self._as_seen(*each) for each in found]

    def exchange(self, principal: str, id: str) -> Exchange | None:
        found = self._readers.read(queries.exchange, principal, id)
        return self._as_seen(*found) if found else None

    def _as_seen(self, exchange: Exchange, process: str) -> Exchange:
        """An open exchange whose process is gone was cut."""
        if exchange.outcome != "open" or self.leases.is_held(process):
            return exchange
        return msgspec.structs.replace(exchange, outcome="cut")

    def bodies(self, principal: str, exchange: str) -> Bodies | None:
        return self._bodies.find(principal, exchange) or self._readers.read(body_rows.read_bodies, principal, exchange)

    def _write_bodies(self, rows: Sequence[BodyRow], limit: int | None) -> Future[None]:
        return self._writer.submit(lambda connection: body_rows.add_bodies(connection, rows, limit), later=True)

    def configure(self, *, content: bool, bodies: int | None) -> None:
        self._content, self._bodies.limit = content, bodies

    def usage_totals(self, principal: str, *, since: float = 0.0) -> list[UsageTotal]:
        return self._readers.read(queries.usage_totals, principal, since)

    def days(self, principal: str, *, since: float) -> Days:
        return self._readers.read(queries.days, principal, since)

    def statistics(self, principal: str, *, backend: str, now: float, idle: float = IDLE) -> Statistics:
        return self._readers.read(queries.statistics, principal, backend, now, idle)

    # Choices, search, leases

    def set(self, name: str, value: str | None, *, scope: str = "", at: float) -> Future[None]:
        return self._writer.submit(lambda connection: choices.set_setting(connection, scope, name, value, at))

    def settings(self, scope: str = "") -> dict[str, str]:
        return self._readers.read(queries.settings, scope)

    def search(self, principal: str, typed: str, *, limit: int = 50) -> list[Hit]:
        with suppress(StoreError, TimeoutError):  # a store that cannot be written is searched for what is in the index
            while self.index_turns().result(PATIENCE):
                pass
        return self._readers.read(search.search, principal, typed, limit)

    def index_turns(self) -> Future[int]:
        return self._writer.submit(search.index_turns, later=True)

    def claim_calls(self, claim: RunClaim, *, at: float, here: bool) -> Future[bool]:
        process = self.leases.reserve() if here else ""
        return self._writer.submit(lambda connection: leases.claim_calls(connection, claim, process, at))

    def abandon_calls(self, claim: RunClaim, *, at: float) -> Future[None]:
        return self._writer.submit(lambda connection: leases.abandon_calls(connection, claim, at))

    def finish_calls(self, claim: RunClaim) -> Future[None]:
        return self._writer.submit(lambda connection: leases.finish_calls(connection, claim))

    def call_owner(self, principal: str, thread: str) -> CallOwner:
        owner = self._readers.read(leases.call_owner, principal, thread)
        return owner if self.leases.is_held(owner.process) else owner._replace(process="")

    # News and upkeep

    def data_version(self) -> int:
        """Every transaction that writes changes the snapshot when it begins and when it ends. Those of other databases
        of the server do too, so this says that something may be new."""
        snapshot = self._readers.read(PostgresDatabase.value, "SELECT pg_current_snapshot()::text")
        return int.from_bytes(sha256(str(snapshot).encode()).digest()[:6])

    def deletions(self) -> Deletions:
        return self._readers.read(deletions.deletions)

    def refresh_pins(self) -> str:
        return self._lookups.refresh_pins()

    def clear_memory(self) -> None:
        self._bodies.forget()
        self._memory.clear()

    def describe(self) -> str:
        return self._where

    def health(self) -> Health:
        local = self._spool.local if self._spool else 0
        return msgspec.structs.replace(self._writer.health(), skipped=self._bodies.skipped, local=local)

    def size(self) -> StoreSize:
        return StoreSize(bytes=self._readers.read(size_of))

    def verify(self) -> tuple[StoreFault, ...]:
        return self._readers.read(verify, self._where)

    def apply_retention(self, retention: Retention, *, now: float) -> Future[int]:
        return self._writer.submit(lambda connection: apply_retention(connection, retention, now))

    def check_clock(self, now: float) -> Future[ClockDoubt | None]:
        return self._writer.submit(lambda connection: check_clock(connection, now))
