"""The store in one SQLite file. Any number of processes may have it open, each with one writer and any number of readers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import msgspec

from clew.errors import StoreError
from clew.model.recording import Recordings
from clew.model.turn import Bodies, Exchange, TurnRecord
from clew.store.batches import run_in_steps
from clew.store.body_writer import BodyRow, BodyWriter
from clew.store.deletion_notes import Deletion
from clew.store.lookup_memory import LookupMemory
from clew.store.protocols import IDLE
from clew.store.sqlite import bodies as body_rows
from clew.store.sqlite import deletions, leases, native_turns, queries, search, writes
from clew.store.sqlite.database import (
    BUSY,
    Database,
    connect,
    locked,
    log_bytes,
    migrate,
    prepare_file,
    raising_store_errors,
)
from clew.store.sqlite.examine import verify
from clew.store.sqlite.lookups import Lookups
from clew.store.sqlite.migrations import MIGRATIONS
from clew.store.sqlite.readers import ChangeWatch, Readers, as_seen
from clew.store.sqlite.retention import apply_retention, check_clock
from clew.store.sqlite.writer import Writer, WriterLimits
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
"""Seconds that a search waits for one step of the index, and a reader for a turn that is being written. Both take
hundredths, unless the disk or the load is in the way."""


class SqliteStore:
    """A `Store`. Opening it makes the file, or brings it to the present schema; raises StoreError where that fails.

    With `content=False` nothing is kept for people to read: no questions, no titles, no tool inputs, no bodies. What
    recognition and restoring need is kept as it is, and that includes an answer's thinking and texts. `keep` is of how many
    exchanges of each principal the bodies are kept, the last ones; None is all of them.
    """

    def __init__(
        self,
        path: Path,
        *,
        content: bool = True,
        keep: int | None = 50,
        busy: float = BUSY,
        limits: WriterLimits | None = None,
        vfs: str | None = None,
    ) -> None:
        self._content = content
        prepare_file(path)
        with locked(path), raising_store_errors(path):
            connection = connect(path, busy=busy, vfs=vfs)
            try:
                migrate(connection, path, MIGRATIONS)
            except BaseException:
                connection.close()
                raise
        self._path = path
        self.leases = leases.FileLeases(path)
        limits = limits or WriterLimits()
        self._writer = Writer(connection, path, limits, busy)
        self._bodies = BodyWriter(self._write_bodies, keep, limits.long_delay)
        submit_lazily = partial(self._writer.submit, lazily=True, delay=limits.long_delay)
        self._touches = TouchBatch[Database](submit_lazily, writes.touch)
        reading = partial(connect, path, read_only=True, busy=busy, vfs=vfs)
        self._readers = Readers(path, reading)
        self._watch = ChangeWatch(path, reading)
        self._memory = LookupMemory()
        self._lookups = Lookups(self._readers, self._memory)
        self._natives: dict[tuple[str, str], Future[bool]] = {}
        """Turns in clients' dialects that are being written, by principal and exchange."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._readers.close()
        self._watch.close()
        self._bodies.close()
        self._writer.close()
        self.leases.close()

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

        def write(connection: Database) -> bool:
            process = self.leases.name() if is_open and not brought_back else ""
            return writes.record(connection, kept, process=process, readable=readable, brought_back=brought_back)

        recorded = self._writer.submit(write, weight=turn_weight(kept), lazily=lazily)
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
        return self._writer.submit(lambda connection: writes.touch(connection, principal, blocks, ids, at), weight=weight)

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
        pinned = self._writer.submit(lambda connection: writes.pin(connection, principal, thread, backend))
        pinned.add_done_callback(lambda _: self._memory.pins.clear())
        return pinned

    def pin_of(self, principal: str, thread: str) -> str:
        return self._readers.read(queries.pin_of, principal, thread)

    def pinned(self, principal: str, *, limit: int = 100) -> list[Thread]:
        return self._readers.read(queries.pinned, principal, limit)

    def rename(self, principal: str, thread: str, title: str) -> Future[bool]:
        return self._writer.submit(lambda connection: writes.rename(connection, principal, thread, title))

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
        return self._readers.read(native_turns.native_history, principal, exchange)

    def native_turns(self, principal: str, exchanges: Iterable[str]) -> list[NativePassage]:
        names = tuple(exchanges)
        self._await_natives(principal, names)
        return self._readers.read(native_turns.native_turns, principal, names)

    def _await_natives(self, principal: str, exchanges: Iterable[str]) -> None:
        """An answer whose commit takes longer than it may be held back has reached the client, who may name it now."""
        wait([each for name in exchanges if (each := self._natives.get((principal, name)))], PATIENCE)

    def hide_native_turn(self, principal: str, exchange: str) -> Future[bool]:
        return self._writer.submit(lambda connection: native_turns.hide_native_turn(connection, principal, exchange))

    # Exchanges, bodies, usage

    def exchanges(
        self, principal: str, *, thread: str | None = None, limit: int = 100, after: str | None = None
    ) -> list[Exchange]:
        found = self._readers.read(queries.exchanges, principal, thread, limit, after)
        return [as_seen(*each, self.leases) for each in found]

    def exchange(self, principal: str, id: str) -> Exchange | None:
        found = self._readers.read(queries.exchange, principal, id)
        return as_seen(*found, self.leases) if found else None

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
        return self._writer.submit(lambda connection: writes.set_setting(connection, scope, name, value, at))

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
        def write(connection: Database) -> bool:
            return leases.claim_calls(connection, claim, self.leases.name() if here else "", at)

        return self._writer.submit(write)

    def abandon_calls(self, claim: RunClaim, *, at: float) -> Future[None]:
        return self._writer.submit(lambda connection: leases.abandon_calls(connection, claim, at))

    def finish_calls(self, claim: RunClaim) -> Future[None]:
        return self._writer.submit(lambda connection: leases.finish_calls(connection, claim))

    def call_owner(self, principal: str, thread: str) -> CallOwner:
        owner = self._readers.read(leases.call_owner, principal, thread)
        return owner if self.leases.is_held(owner.process) else owner._replace(process="")

    # News and upkeep

    def data_version(self) -> int:
        return self._watch.data_version()

    def deletions(self) -> Deletions:
        return self._readers.read(deletions.deletions)

    def refresh_pins(self) -> str:
        return self._lookups.refresh_pins()

    def clear_memory(self) -> None:
        self._bodies.forget()
        self._memory.clear()

    def describe(self) -> str:
        return str(self._path)

    def health(self) -> Health:
        return msgspec.structs.replace(self._writer.health(), skipped=self._bodies.skipped)

    def size(self) -> StoreSize:
        with raising_store_errors(self._path):
            return StoreSize(bytes=self._path.stat().st_size, log_bytes=log_bytes(self._path))

    def verify(self) -> tuple[StoreFault, ...]:
        with self._readers.fresh() as connection:  # FTS5 checks an index by what it remembers of it, others' changes or not
            return verify(connection)

    def apply_retention(self, retention: Retention, *, now: float) -> Future[int]:
        return self._writer.submit(lambda connection: apply_retention(connection, retention, now), erases="soon")

    def check_clock(self, now: float) -> Future[ClockDoubt | None]:
        return self._writer.submit(lambda connection: check_clock(connection, now))
