"""A store in a database of any kind: every call of `clew.store.protocols.Store` as a statement that a reader or the writer
runs, and what this process remembers beside it.

A kind brings its statements, its readers and its writer (`clew.store.statements`), and says how a turn is written.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from functools import partial
from time import monotonic
from types import TracebackType
from typing import Final, Generic, NamedTuple, Self, TypeVar

import msgspec

from clew.errors import StoreError
from clew.model.recording import Recordings
from clew.model.turn import Bodies, Exchange, TurnRecord
from clew.store.audit_table import AuditTable
from clew.store.batches import LONG_DELAY, run_in_steps
from clew.store.body_writer import BodyRow, BodyWriter
from clew.store.commits import was_kept
from clew.store.cut_exchanges import as_seen
from clew.store.deletion_notes import Deletion
from clew.store.key_rows import KeyRows
from clew.store.limit_tables import LimitTables
from clew.store.lookup_memory import LookupMemory
from clew.store.process_protocols import Leases
from clew.store.protocols import IDLE
from clew.store.statements import ReaderPool, RecordingLookups, StoreStatements, WriterThread
from clew.store.table_access import TableRunner
from clew.store.touches import TouchBatch
from clew.store.turn_content import without_content
from clew.store.usage_table import UsageTable
from clew.store.values import (
    Branch,
    CallOwner,
    ClockDoubt,
    Days,
    Deletions,
    GatewayProcess,
    Health,
    Hit,
    Lookup,
    LookupResult,
    NativePassage,
    Passage,
    Retention,
    RunClaim,
    Statistics,
    StorePlace,
    Thread,
    ThreadTotal,
    UsageTotal,
)

Connection = TypeVar("Connection")

PATIENCE: Final = 10.0
"""Seconds that a search waits for one step of the index, and a reader for a turn that is being written. Both take
hundredths, unless the disk, the server or the load is in the way."""


class StoreParts(NamedTuple, Generic[Connection]):
    """What a kind of database brings."""

    statements: StoreStatements[Connection]
    writer: WriterThread[Connection]
    readers: ReaderPool[Connection]
    leases: Leases
    memory: LookupMemory
    lookups: RecordingLookups
    access: TableRunner


class DatabaseStore(ABC, Generic[Connection]):
    """What `content` and `keep` mean, `clew.store.kinds.open_store` says (`keep` is its `bodies`)."""

    def __init__(
        self, parts: StoreParts[Connection], *, content: bool, keep: int | None, long_delay: float = LONG_DELAY
    ) -> None:
        self._statements, self._writer, self._readers, self.leases, self._memory, self._lookups, access = parts
        self.shard = access.shard
        self.limits = LimitTables(access)
        self.keys = KeyRows(access)
        self.audit = AuditTable(access)
        self.usage = UsageTable(access)
        self._content = content
        self._bodies = BodyWriter(self._write_bodies, keep, long_delay)
        submit_lazily = partial(self._writer.submit, lazily=True, delay=long_delay)
        self._touches = TouchBatch[Connection](submit_lazily, self._statements.touch)
        self._natives: dict[tuple[str, str], Future[bool]] = {}
        """Turns in clients' dialects that are being written, by principal and exchange."""

    @property
    def place(self) -> StorePlace:
        return "local"

    @property
    def clock_offset(self) -> float:
        return 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None: ...

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

        recorded = self._write_turn(kept, readable=readable, lazily=lazily, brought_back=brought_back)
        bodies = self._bodies.expect(kept)
        if recording is not None:
            self._memory.expect(recording)

        def settle(recorded: Future[bool]) -> None:
            is_kept = was_kept(recorded)
            if recording is not None:
                # An answer that is not over is replaced by another, and an imported one is not asked for soon.
                self._memory.settle(recording, remembers=is_kept and not is_open and not brought_back)
            if bodies is not None:
                self._bodies.settle(bodies, is_kept=is_kept)

        recorded.add_done_callback(settle)
        if kept.native is not None:
            name = (exchange.principal, exchange.id)
            self._natives[name] = recorded
            recorded.add_done_callback(lambda _: self._natives.pop(name, None))
        return recorded

    @abstractmethod
    def _write_turn(self, turn: TurnRecord, *, readable: bool, lazily: bool, brought_back: bool) -> Future[bool]:
        """Hand a turn to the writer. `readable`: it is kept for people to read."""

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
        return self._writer.submit(lambda on: self._statements.touch(on, principal, blocks, ids, at), weight=weight)

    def recordings(self, principal: str) -> Recordings:
        return self._lookups.finder(principal)

    def gather(self, wanted: Lookup, check: Callable[[], None] = lambda: None) -> LookupResult:
        return self._lookups.gather(wanted, check)

    def recall(self, wanted: Lookup) -> LookupResult | None:
        return self._memory.recall(wanted)

    # Threads

    def threads(self, principal: str, *, limit: int = 100, before: float | None = None, starting: str = "") -> list[Thread]:
        return self._readers.read(self._statements.threads, principal, limit, before, starting)

    def thread(self, principal: str, id: str) -> Thread | None:
        return self._readers.read(self._statements.thread, principal, id)

    def sibling_threads(self, principal: str, thread: str) -> list[Thread]:
        return self._readers.read(self._statements.sibling_threads, principal, thread)

    def thread_of(self, principal: str, session: str, agent: str) -> str | None:
        return self._readers.read(self._statements.thread_of, principal, session, agent)

    def pin(self, principal: str, thread: str, backend: str) -> Future[bool]:
        pinned = self._writer.submit(lambda on: self._statements.pin(on, principal, thread, backend), tells=True)
        pinned.add_done_callback(lambda _: self._memory.pins.clear())
        return pinned

    def pin_of(self, principal: str, thread: str) -> str:
        return self._readers.read(self._statements.pin_of, principal, thread)

    def pinned(self, principal: str, *, limit: int = 100) -> list[Thread]:
        return self._readers.read(self._statements.pinned, principal, limit)

    def rename(self, principal: str, thread: str, title: str) -> Future[bool]:
        return self._writer.submit(lambda on: self._statements.rename(on, principal, thread, title))

    def passages(self, principal: str, thread: str) -> list[Passage]:
        return self._readers.read(self._statements.passages, principal, thread)

    def tree(self, principal: str, thread: str) -> list[Branch]:
        return self._readers.read(self._statements.tree, principal, thread)

    def forget(self, principal: str, thread: str, *, at: float, agents: bool = False) -> Future[bool]:
        deletion = Deletion(principal, thread, at, agents)

        def clear_memory(_: Future[bool]) -> None:  # other processes find out by `deletions`
            self._bodies.forget(principal, thread)
            self._memory.forget(principal, thread)

        def delete_some() -> Future[int]:
            return self._writer.submit(lambda on: self._statements.delete_some_of_thread(on, deletion))

        def delete_rest() -> Future[bool]:
            deleted = self._writer.submit(lambda on: self._statements.delete_thread(on, deletion), erases="now", tells=True)
            deleted.add_done_callback(clear_memory)
            return deleted

        return run_in_steps(delete_some, delete_rest)

    # Turns in clients' dialects

    def native_history(self, principal: str, exchange: str) -> list[NativePassage]:
        self._await_natives(principal, (exchange,))
        return self._readers.read_soon(self._statements.native_history, principal, exchange)

    def native_turns(self, principal: str, exchanges: Iterable[str]) -> list[NativePassage]:
        names = tuple(exchanges)
        self._await_natives(principal, names)
        return self._readers.read_soon(self._statements.native_turns, principal, names)

    def _await_natives(self, principal: str, exchanges: Iterable[str]) -> None:
        """An answer whose commit takes longer than it may be held back has reached the client, who may name it now."""
        until = monotonic() + PATIENCE
        for write in [each for name in exchanges if (each := self._natives.get((principal, name)))]:
            with suppress(CancelledError, TimeoutError):
                write.exception(until - monotonic())

    def hide_native_turn(self, principal: str, exchange: str) -> Future[bool]:
        return self._writer.submit(lambda on: self._statements.hide_native_turn(on, principal, exchange))

    # Exchanges, bodies, usage

    def exchanges(
        self, principal: str, *, thread: str | None = None, limit: int = 100, after: str | None = None
    ) -> list[Exchange]:
        found = self._readers.read(self._statements.exchanges, principal, thread, limit, after)
        return [as_seen(*each, self.leases) for each in found]

    def exchange(self, principal: str, id: str) -> Exchange | None:
        found = self._readers.read(self._statements.exchange, principal, id)
        return as_seen(*found, self.leases) if found else None

    def position(self, principal: str) -> str:
        return self._readers.read(self._statements.position, principal)

    def exchanges_since(self, principal: str, position: str, *, limit: int) -> tuple[list[Exchange], str]:
        found, after = self._readers.read(self._statements.exchanges_since, principal, position, limit)
        return [as_seen(*each, self.leases) for each in found], after

    def bodies(self, principal: str, exchange: str) -> Bodies | None:
        waiting = self._bodies.find(principal, exchange)
        return waiting or self._readers.read(self._statements.read_bodies, principal, exchange)

    def _write_bodies(self, rows: Sequence[BodyRow], limit: int | None) -> Future[None]:
        return self._writer.submit(lambda on: self._statements.add_bodies(on, rows, limit), later=True)

    def configure(self, *, content: bool, bodies: int | None) -> None:
        self._content, self._bodies.limit = content, bodies

    def usage_totals(self, principal: str, *, since: float = 0.0) -> list[UsageTotal]:
        return self._readers.read(self._statements.usage_totals, principal, since)

    def thread_totals(self, principal: str, threads: Sequence[str]) -> list[ThreadTotal]:
        return self._readers.read(self._statements.thread_totals, principal, threads)

    def days(self, principal: str, *, since: float) -> Days:
        return self._readers.read(self._statements.days, principal, since)

    def statistics(self, principal: str, *, backend: str, now: float, idle: float = IDLE) -> Statistics:
        return self._readers.read(self._statements.statistics, principal, backend, now, idle)

    # Choices, search, leases

    def set(self, name: str, value: str | None, *, scope: str = "", at: float) -> Future[None]:
        return self._writer.submit(lambda on: self._statements.set_setting(on, scope, name, value, at), tells=True)

    def settings(self, scope: str = "") -> dict[str, str]:
        return self._readers.read(self._statements.settings, scope)

    def search(self, principal: str, typed: str, *, limit: int = 50) -> list[Hit]:
        with suppress(StoreError, TimeoutError):  # a store that cannot be written is searched for what is in the index
            while self.index_turns().result(PATIENCE):
                pass
        return self._readers.read(self._statements.search, principal, typed, limit)

    def index_turns(self) -> Future[int]:
        return self._writer.submit(self._statements.index_turns, later=True)

    def abandon_calls(self, claim: RunClaim, *, at: float) -> Future[None]:
        return self._writer.submit(lambda on: self._statements.abandon_calls(on, claim, at))

    def finish_calls(self, claim: RunClaim) -> Future[None]:
        return self._writer.submit(lambda on: self._statements.finish_calls(on, claim))

    def call_owner(self, principal: str, thread: str) -> CallOwner:
        owner = self._readers.read(self._statements.call_owner, principal, thread)
        return owner if self.leases.is_held(owner.process) else owner._replace(process="")

    # News and upkeep

    def announce(self, process: GatewayProcess) -> None:
        """Processes that share a file find each other by files too (`clew.settings.processes`)."""

    def gateways(self) -> list[GatewayProcess]:
        return []

    @abstractmethod
    def data_version(self) -> int: ...

    def changes(self) -> int:
        return self.data_version()

    def deletions(self) -> Deletions:
        return self._readers.read(self._statements.deletions)

    def refresh_pins(self) -> str:
        return self._lookups.refresh_pins()

    def clear_memory(self) -> None:
        self._bodies.forget()
        self._memory.clear()

    def health(self) -> Health:
        return msgspec.structs.replace(self._writer.health(), skipped=self._bodies.skipped)

    def apply_retention(self, retention: Retention, *, now: float) -> Future[int]:
        return self._writer.submit(lambda on: self._statements.apply_retention(on, retention, now), erases="soon")

    def check_clock(self, now: float) -> Future[ClockDoubt | None]:
        return self._writer.submit(lambda on: self._statements.check_clock(on, now))
