"""The store in one SQLite file. Any number of processes may have it open, each with one writer and any number of readers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from clew.errors import StoreError
from clew.model.recording import Recording, Recordings
from clew.store.begun import Beginning, Mark
from clew.store.doubt import Doubt
from clew.store.lookup import LookedUp, Lookup
from clew.store.protocols import IDLE
from clew.store.sqlite import begun, bodies, commands, forget, look, words
from clew.store.sqlite.bites import in_bites
from clew.store.sqlite.clock import check_clock
from clew.store.sqlite.connection import BUSY, connect, locked, prepare_file
from clew.store.sqlite.database import Database
from clew.store.sqlite.days import days
from clew.store.sqlite.foreign import mapped
from clew.store.sqlite.forgotten import Deletion, deletions
from clew.store.sqlite.leases import FileLeases
from clew.store.sqlite.lookups import Lookups
from clew.store.sqlite.readers import Readers, Watch
from clew.store.sqlite.rows import without_inputs
from clew.store.sqlite.schema import migrate
from clew.store.sqlite.search import search
from clew.store.sqlite.size import log_bytes
from clew.store.sqlite.touches import Touches
from clew.store.sqlite.tree import tree
from clew.store.sqlite.verify import verify
from clew.store.sqlite.writer import Limits, Writer
from clew.store.values import (
    Bodies,
    Branch,
    Days,
    Deletions,
    Exchange,
    Fault,
    Health,
    Hit,
    Passage,
    Retention,
    Spent,
    Statistics,
    StoreSize,
    Thread,
    Turn,
)

__all__ = ["SqliteStore"]

_CHANGE = 144
"""Bytes of a Change while it waits to be written. A long conversation may have a thousand of them with each turn."""

PATIENCE = 10.0
"""Seconds that a search waits for one bite of the index. It takes hundredths, unless the disk or the load is in the way."""


class SqliteStore:
    """A `Store`. Opening it makes the file, or brings it to the present schema; raises StoreError where that fails.

    With `content=False` nothing is kept for people to read: no questions, no titles, no tool inputs, no bodies. What
    recognition and restoring need is kept as it is, and that includes an answer's thinking and texts. `keep` is of how
    many exchanges of each principal the bodies are kept, the last ones; None is all of them.
    """

    def __init__(
        self,
        path: Path,
        *,
        content: bool = True,
        keep: int | None = 50,
        busy: float = BUSY,
        limits: Limits | None = None,
        vfs: str | None = None,
    ) -> None:
        self._content = content
        prepare_file(path)
        with locked(path), mapped(path):
            connection = connect(path, busy=busy, vfs=vfs)
            try:
                migrate(connection, path)
            except BaseException:
                connection.close()
                raise
        self._path = path
        self.leases = FileLeases(path)
        self._writer = Writer(connection, path, limits or Limits(), busy)
        self._keeper = bodies.Keeper(self._writer, keep)
        self._touches = Touches(self._writer)
        reading = partial(connect, path, read_only=True, busy=busy, vfs=vfs)
        self._readers = Readers(path, reading)
        self._watch = Watch(path, reading)
        self._lookups = Lookups(self._readers)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._readers.close()
        self._watch.close()
        self._keeper.close()
        self._writer.close()
        self.leases.close()

    # Writing

    def keep(self, *, content: bool, bodies: int | None) -> None:
        """What is kept of turns from now on, in the place of what was said when it was opened."""
        self._content, self._keeper.limit = content, bodies

    def record(self, turn: Turn, *, brought_back: bool = False) -> Future[bool]:
        return self._record(turn, lazily=False, brought_back=brought_back)

    def record_open(self, turn: Turn) -> Future[bool]:
        return self._record(turn, lazily=True)

    def _record(self, turn: Turn, *, lazily: bool, brought_back: bool = False) -> Future[bool]:
        _check(turn)
        readable = self._content
        kept = turn if readable else _without_content(turn)
        is_open = turn.exchange.outcome == "open" and not brought_back

        def write(connection: Database) -> bool:
            process = self.leases.name() if is_open else ""
            return commands.record(connection, kept, process=process, readable=readable, brought_back=brought_back)

        recorded = self._writer.submit(write, weight=_weight(kept), lazily=lazily)
        self._keeper.follow(recorded, kept)
        if kept.recording is not None:
            is_wanted_soon = turn.exchange.outcome != "open" and not brought_back
            self._lookups.expect(kept.recording, recorded, remembers=is_wanted_soon)
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
        return self._writer.submit(
            lambda connection: commands.touch(connection, principal, blocks, ids, at), weight=64 * (len(blocks) + len(ids))
        )

    def pin(self, principal: str, thread: str, backend: str) -> Future[bool]:
        pinned = self._writer.submit(lambda connection: commands.pin(connection, principal, thread, backend))
        pinned.add_done_callback(lambda _: self._lookups.pins.forget())
        return pinned

    def rename(self, principal: str, thread: str, title: str) -> Future[bool]:
        return self._writer.submit(lambda connection: commands.rename(connection, principal, thread, title))

    def set(self, name: str, value: str | None, *, scope: str = "", at: float) -> Future[None]:
        return self._writer.submit(lambda connection: commands.set_setting(connection, scope, name, value, at))

    def begin(self, wish: Beginning, *, at: float, here: bool) -> Future[bool]:
        return self._writer.submit(lambda connection: begun.begin(connection, wish, self.leases.name() if here else "", at))

    def leave(self, wish: Beginning, *, at: float) -> Future[None]:
        return self._writer.submit(lambda connection: begun.leave(connection, wish, at))

    def end(self, wish: Beginning) -> Future[None]:
        return self._writer.submit(lambda connection: begun.end(connection, wish))

    def begun(self, principal: str, thread: str) -> Mark:
        with self._readers.use() as connection:
            mark = begun.mark_in(connection, principal, thread)
        return mark if self.leases.is_held(mark.process) else mark._replace(process="")

    def forget(self, principal: str, thread: str, *, at: float, agents: bool = False) -> Future[bool]:
        deletion = Deletion(principal, thread, at, agents)

        def last() -> Future[bool]:
            gone = self._writer.submit(lambda connection: forget.forget(connection, deletion), erases="now")
            gone.add_done_callback(lambda _: self._let_go(principal, thread))
            return gone

        return in_bites(lambda: self._writer.submit(lambda connection: forget.forget_some(connection, deletion)), last)

    def _let_go(self, principal: str, thread: str) -> None:
        """Of what is in memory of a thread that was deleted. (Other processes find out by `deletions`.)"""
        self._keeper.forget(principal, thread)
        self._lookups.forget(principal, thread)

    def deletions(self) -> Deletions:
        with self._readers.use() as connection:
            return deletions(connection)

    def let_go(self) -> None:
        self._keeper.forget()
        self._lookups.clear()

    def retain(self, retention: Retention, *, now: float) -> Future[int]:
        return self._writer.submit(lambda connection: forget.retain(connection, retention, now), erases="soon")

    def check_clock(self, now: float) -> Future[Doubt | None]:
        return self._writer.submit(lambda connection: check_clock(connection, now))

    def catch_up(self) -> Future[int]:
        return self._writer.submit(words.catch_up, later=True)

    # Finding

    def recordings(self, principal: str) -> Recordings:
        return self._lookups.found(principal)

    def gather(self, wanted: Lookup, check: Callable[[], None] = lambda: None) -> LookedUp:
        return self._lookups.gather(wanted, check)

    def recall(self, wanted: Lookup) -> LookedUp | None:
        return self._lookups.recall(wanted)

    def refresh(self) -> str:
        return self._lookups.refresh()

    def search(self, principal: str, typed: str, *, limit: int = 50) -> list[Hit]:
        with suppress(StoreError, TimeoutError):  # a store that cannot be written is searched for what is in the index
            while self.catch_up().result(PATIENCE):
                pass
        with self._readers.use() as connection:
            return search(connection, principal, typed, limit)

    # Looking

    def threads(self, principal: str, *, limit: int = 100, before: float | None = None, starting: str = "") -> list[Thread]:
        with self._readers.use() as connection:
            return look.threads(connection, principal, limit, before, starting)

    def thread(self, principal: str, id: str) -> Thread | None:
        with self._readers.use() as connection:
            return look.thread(connection, principal, id)

    def beside(self, principal: str, thread: str) -> list[Thread]:
        with self._readers.use() as connection:
            return look.beside(connection, principal, thread)

    def thread_of(self, principal: str, session: str, agent: str) -> str | None:
        with self._readers.use() as connection:
            return look.thread_of(connection, principal, session, agent)

    def pin_of(self, principal: str, thread: str) -> str:
        with self._readers.use() as connection:
            return look.pin_of(connection, principal, thread)

    def pinned(self, principal: str, *, limit: int = 100) -> list[Thread]:
        with self._readers.use() as connection:
            return look.pinned(connection, principal, limit)

    def passages(self, principal: str, thread: str) -> list[Passage]:
        with self._readers.use() as connection:
            return look.passages(connection, principal, thread)

    def tree(self, principal: str, thread: str) -> list[Branch]:
        with self._readers.use() as connection:
            return tree(connection, principal, thread)

    def exchanges(
        self, principal: str, *, thread: str | None = None, limit: int = 100, after: str | None = None
    ) -> list[Exchange]:
        with self._readers.use() as connection:
            found = look.exchanges(connection, principal, thread, limit, after)
        return [self._as_it_is(*each) for each in found]

    def exchange(self, principal: str, id: str) -> Exchange | None:
        with self._readers.use() as connection:
            found = look.exchange(connection, principal, id)
        return self._as_it_is(*found) if found else None

    def _as_it_is(self, exchange: Exchange, process: str) -> Exchange:
        """One that is open and that nobody hears any more was cut."""
        if exchange.outcome != "open" or self.leases.is_held(process):
            return exchange
        return msgspec.structs.replace(exchange, outcome="cut")

    def bodies(self, principal: str, exchange: str) -> Bodies | None:
        with self._readers.use() as connection:
            return bodies.read(connection, principal, exchange)

    def changed(self) -> int:
        return self._watch.changed()

    def spent(self, principal: str, *, since: float = 0.0) -> list[Spent]:
        with self._readers.use() as connection:
            return look.spent(connection, principal, since)

    def days(self, principal: str, *, since: float) -> Days:
        with self._readers.use() as connection:
            return days(connection, principal, since)

    def statistics(self, principal: str, *, backend: str, now: float, idle: float = IDLE) -> Statistics:
        with self._readers.use() as connection:
            return look.statistics(connection, principal, backend, now, idle)

    def settings(self, scope: str = "") -> dict[str, str]:
        with self._readers.use() as connection:
            return look.settings(connection, scope)

    def describe(self) -> str:
        return str(self._path)

    def size(self) -> StoreSize:
        with mapped(self._path):
            return StoreSize(bytes=self._path.stat().st_size, log_bytes=log_bytes(self._path))

    def health(self) -> Health:
        return msgspec.structs.replace(self._writer.health(), skipped=self._keeper.skipped)

    def verify(self) -> tuple[Fault, ...]:
        with self._readers.fresh() as connection:  # FTS5 checks an index by what it remembers of it, others' changes or not
            return verify(connection)


def _check(turn: Turn) -> None:
    exchange, recording = turn.exchange, turn.recording
    assert recording is None or (recording.principal, recording.thread) == (exchange.principal, exchange.thread)


def _without_content(turn: Turn) -> Turn:
    recording: Recording | None = turn.recording
    if recording:
        recording = msgspec.structs.replace(recording, blocks=without_inputs(recording.blocks))
    return msgspec.structs.replace(turn, recording=recording, asked=(), title="", bodies=None)


def _weight(turn: Turn) -> int:
    recording = turn.recording
    said = sum(map(len, recording.blocks)) if recording else 0
    return sum(map(len, turn.asked)) + said + _CHANGE * len(turn.exchange.changes)
