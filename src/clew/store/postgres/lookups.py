"""Look-ups of requests in the database, in two round trips: what the history points at, and what that followed.

A round trip costs more than reading a row, so all block keys, tool ids, places and ids of a request go together, and so do
the thread of its session and the principal's pins, which are few. What the found recordings followed and came after is the
second statement, recursive in the database. A recording that this process has read lately is not sent again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from clew.errors import RecordCorrupt, StoreError
from clew.model.recording import Recording, Shelf
from clew.store.lookup_memory import LookupMemory
from clew.store.postgres.database import PostgresDatabase
from clew.store.postgres.known_choices import KnownChoices, PinnedThread
from clew.store.postgres.queries import THREAD_OF, settings
from clew.store.postgres.readers import PostgresReaders, request_deadline
from clew.store.postgres.settings import GENERATION, PINS
from clew.store.rows import COLUMNS, Row, tool_hash, verified_recording
from clew.store.values import Lookup, LookupResult

MOST_MARKED: Final = 256
"""Recordings with one mark that are read, the newest. A place is not unique: a client that asks the same first question a
thousand times has a thousand answers at one place, and no request may wait for all of them."""
MOST_LINKED: Final = 2000
"""Recordings that a look-up takes beyond those that the request points at. Links may lead back over years."""

_SAID: Final = ", ".join(f"said.{name}" for name in COLUMNS.split(", "))
_MARKED: Final = f"""
SELECT wanted.number, said.id, said.seq, {_SAID}, said.sum
FROM unnest($2::text[], $3::bytea[]) WITH ORDINALITY AS wanted (kind, hash, number)
CROSS JOIN LATERAL (
    SELECT recordings.* FROM clew.marks JOIN clew.recordings ON seq = marks.recording
    WHERE marks.principal = $1 AND marks.kind = wanted.kind AND marks.hash = wanted.hash
    ORDER BY seq DESC LIMIT {MOST_MARKED}
) AS said
UNION ALL
SELECT 0, said.id, said.seq, {_SAID}, said.sum FROM clew.recordings AS said
WHERE said.principal = $1 AND said.id = ANY ($4::text[])
ORDER BY 1, 3
"""  # noqa: S608  (the columns are a constant)
_LINKED: Final = f"""
WITH RECURSIVE linked (id, followed, after, distance) AS (
    SELECT id, followed, after, 0 FROM clew.recordings WHERE principal = $1 AND id = ANY ($2::text[])
    UNION
    SELECT said.id, said.followed, said.after, distance + 1 FROM linked JOIN clew.recordings AS said
        ON said.principal = $1 AND said.id IN (linked.followed, linked.after)
    WHERE distance < $3
)
SELECT {_SAID}, said.sum FROM (
    SELECT id, min(distance) AS nearest FROM linked GROUP BY id ORDER BY nearest LIMIT $4
) AS found JOIN clew.recordings AS said ON said.principal = $1 AND said.id = found.id
WHERE NOT said.id = ANY ($2::text[]) ORDER BY nearest
"""  # noqa: S608  (the columns are a constant)
_PINS: Final = "SELECT id, pin FROM clew.threads WHERE principal = $1 AND pin <> ''"


class PostgresFinder:
    """One principal's recordings, each looked up when it is asked for. Any thread may ask."""

    def __init__(self, readers: PostgresReaders, principal: str, pending: Shelf | None) -> None:
        """`pending` are the recordings that are being written."""
        self._readers = readers
        self._principal = principal
        self._pending = pending

    def by_id(self, id: str) -> Recording | None:
        if self._pending and (recording := self._pending.by_id(id)):
            return recording
        return next(iter(self._find((), (id,))), None)

    def by_key(self, key: bytes) -> Recording | None:
        if self._pending and (recording := self._pending.by_key(key)):
            return recording
        found = self._find((("key", key),))
        return found[-1] if found else None

    def by_tool(self, id: str) -> Sequence[Recording]:
        return self._joined(self._find((("tool", tool_hash(id)),)), self._pending.by_tool(id) if self._pending else ())

    def by_place(self, place: bytes) -> Sequence[Recording]:
        return self._joined(self._find((("place", place),)), self._pending.by_place(place) if self._pending else ())

    def _find(self, marks: Sequence[tuple[str, bytes]], ids: Sequence[str] = ()) -> list[Recording]:
        rows = self._readers.read(_marked_rows, self._principal, marks, ids)
        return [verified_recording(row[3:]) for row in rows]

    def _joined(self, written: list[Recording], pending: Sequence[Recording]) -> Sequence[Recording]:
        """The written recordings, then those being written; a recording that is both counts as the newer."""
        names = {each.id for each in pending}
        return [*(each for each in written if each.id not in names), *pending]


def _marked_rows(
    database: PostgresDatabase, principal: str, marks: Sequence[tuple[str, bytes]], ids: Sequence[str]
) -> list[Row]:
    return database.rows(_MARKED, principal, [kind for kind, _ in marks], [hash for _, hash in marks], list(ids))


class PostgresLookups:
    """The look-ups of one store. Any thread may ask."""

    def __init__(self, readers: PostgresReaders, memory: LookupMemory, known: KnownChoices | None) -> None:
        """`known` is for a process that serves."""
        self._readers = readers
        self._memory = memory
        self._known = known
        self._pins: dict[tuple[str, str], str] | None = None
        """Every pin, by principal and thread, for the time when the database is away; None if nobody knows them. A gateway
        that never reached the database knows of none."""
        self._pinned: Sequence[PinnedThread] = known.pins if known else ()
        if known:
            self._pins = _by_thread(known.pins)
            self.remember_pinned()
        self._has_read = False
        self._generation = ""

    def remember_pinned(self) -> None:
        """Have the pinned threads found by their sessions, in a memory that has no others."""
        for each in self._pinned:
            self._memory.learn_session(each.principal, each.session, each.agent, each.thread)

    def finder(self, principal: str) -> PostgresFinder:
        return PostgresFinder(self._readers, principal, self._memory.pending.of(principal))

    def gather(self, wanted: Lookup, check: Callable[[], None]) -> LookupResult:
        check()
        version, deadline = self._memory.pins.version, request_deadline()
        try:
            first = self._readers.read_by(deadline, _first_rows, wanted)
            check()
            recordings, failure = self._recordings(wanted, first.marked, deadline)
        except StoreError as error:
            return self._gather_in_memory(wanted, error)
        thread = first.thread
        names = dict.fromkeys((thread, wanted.thread, *(each.thread for each in recordings)))
        pins = {name: first.pins.get(name, "") for name in names if name}
        self._memory.pins.learn(wanted.principal, pins, version)
        return LookupResult(recordings=recordings, thread=thread, pins=pins, failure=failure)

    def _gather_in_memory(self, wanted: Lookup, error: StoreError) -> LookupResult:
        """While the database is away, with what this process knows. All pins are known since the last refresh, and what was
        chosen stays."""
        pending = self._memory.pending.of(wanted.principal)
        recordings = (*self._memory.cache.find_some(wanted), *_pending_of(wanted, pending))
        thread = self._memory.thread_of(wanted)
        if self._pins is None:
            return LookupResult(recordings=recordings, thread=thread, failure=error, thread_failure=error, has_pins=True)
        names = dict.fromkeys((thread, wanted.thread, *(each.thread for each in recordings)))
        pins = {name: self._pins.get((wanted.principal, name), "") for name in names if name}
        return LookupResult(recordings=recordings, thread=thread, pins=pins, failure=error)

    def _recordings(
        self, wanted: Lookup, marked: Sequence[Row], deadline: float
    ) -> tuple[tuple[Recording, ...], StoreError | None]:
        """Those with a wanted key last, since of two with one key the newest was found, and links may lead to the other; and
        why one of them could not be read."""
        pending = self._memory.pending.of(wanted.principal)
        found, failure = dict[str, Recording](), None
        newest = dict[int, Recording]()
        for row in marked:
            recording, error = self._decoded(row[3:])
            failure = failure or error
            if recording is not None:
                number = row[0]
                assert isinstance(number, int)
                if 0 < number <= len(wanted.keys):  # the rows of a mark are in order: of those with one key the last counts
                    newest[number] = recording
                else:
                    found[recording.id] = recording
        for each in _pending_of(wanted, pending):
            found[each.id] = each
        exact = {each.id: each for each in newest.values()}
        linked, error = self._linked(wanted, [*found, *exact], deadline)
        rest = found | {each.id: each for each in linked if each.id not in found}
        return (*(each for each in rest.values() if each.id not in exact), *exact.values()), failure or error

    def _linked(self, wanted: Lookup, ids: Sequence[str], deadline: float) -> tuple[list[Recording], StoreError | None]:
        if not ids or not wanted.links:
            return [], None
        rows = self._readers.read_by(deadline, _linked_rows, wanted.principal, ids, wanted.links)
        decoded = [self._decoded(row) for row in rows]
        failure = next((error for _, error in decoded if error), None)
        return [recording for recording, _ in decoded if recording], failure

    def _decoded(self, row: Row) -> tuple[Recording | None, StoreError | None]:
        """A damaged row costs one recording."""
        try:
            recording = verified_recording(row)
        except RecordCorrupt as error:
            return None, error
        if recording.whole:  # a cut recording may still be under way, and then another replaces it
            self._memory.cache.add(recording)
        return recording, None

    def refresh_pins(self) -> str:
        generation = self._readers.read(settings, PINS).get(GENERATION, "")
        if not self._has_read or generation != self._generation:
            self._pinned = self._readers.read(_all_pins)
            self._pins = _by_thread(self._pinned)
            self._has_read = True
            self._generation = generation
            if self._known:
                self._known.note_pins(self._pinned)
        self._memory.pins.renew(generation)
        return generation


def _linked_rows(database: PostgresDatabase, principal: str, ids: Sequence[str], links: int) -> list[Row]:
    return database.rows(_LINKED, principal, list(ids), links, len(ids) + MOST_LINKED)


def _pending_of(wanted: Lookup, pending: Shelf | None) -> Iterable[Recording]:
    """The wanted recordings among those whose write is not committed yet."""
    if pending is None:
        return ()
    by_key = [found for key in wanted.keys if (found := pending.by_key(key))]
    by_id = [found for id in wanted.ids if (found := pending.by_id(id))]
    by_tool = [found for id in wanted.tools for found in pending.by_tool(id)]
    return [*by_key, *by_id, *by_tool, *(found for place in wanted.places for found in pending.by_place(place))]


def _all_pins(database: PostgresDatabase) -> list[PinnedThread]:
    rows = database.rows("SELECT principal, id, pin, session, agent FROM clew.threads WHERE pin <> '' ORDER BY 1, 2")
    return [PinnedThread(*map(str, row)) for row in rows]


def _by_thread(pinned: Sequence[PinnedThread]) -> dict[tuple[str, str], str]:
    return {(each.principal, each.thread): each.backend for each in pinned}


class FirstRows(NamedTuple):
    """What one round trip brings: the recordings that a request points at, the thread of its session, and the pins."""

    marked: Sequence[Row]
    thread: str
    pins: Mapping[str, str]


def _first_rows(database: PostgresDatabase, wanted: Lookup) -> FirstRows:
    marks = [("key", key) for key in wanted.keys]
    marks += [("tool", tool_hash(id)) for id in wanted.tools]
    marks += [("place", each) for each in wanted.places]
    kinds, hashes = [kind for kind, _ in marks], [hash for _, hash in marks]
    with database.connection.pipeline():
        marked = database.send(_MARKED, wanted.principal, kinds, hashes, list(wanted.ids)) if marks or wanted.ids else None
        threads = database.send(THREAD_OF, wanted.principal, wanted.session, wanted.agent) if wanted.session else None
        pins = database.send(_PINS, wanted.principal)
    thread = threads.fetchone() if threads else None
    return FirstRows(
        marked.fetchall() if marked else [],
        str(thread[0]) if thread else "",
        {str(id): str(pin) for id, pin in pins.fetchall()},
    )
