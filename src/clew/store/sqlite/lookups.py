"""Look-ups of requests: in the file, and in the memory of what this process recorded or looked up lately.

Finding a recording takes two steps: which recordings match (one or two descents of an index, a few microseconds) and, unless
they were read lately, what they hold. A request names its answers by block keys, tool ids and places; the answers name
others by what they followed and what their strand comes after. A round trip to the file costs next to nothing, so a look-up
is one small select for each name, and each may fail by itself: a damaged row or page costs one recording.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Final

from clew.errors import StoreError
from clew.model.recording import Recording, Shelf
from clew.store.lookup_memory import LookupMemory
from clew.store.memory import RecordingCache
from clew.store.rows import COLUMNS, Value, tool_hash, verified_recording
from clew.store.sqlite.queries import pin_of, pinned, settings, thread_of
from clew.store.sqlite.readers import Readers
from clew.store.sqlite.writes import GENERATION, PINS
from clew.store.values import Lookup, LookupResult

MOST_MARKED: Final = 256
"""Recordings with one mark that are read, the newest. Keys and tool ids are unique, or nearly; a place is not: a client that
asks the same first question a thousand times has a thousand answers at one place, and no request may wait for all of
them."""

MOST_LINKED: Final = 2000
"""Recordings that a look-up takes beyond those that the request points at. Links may lead back over years."""

_EXISTS = "SELECT id FROM recordings WHERE principal = ? AND id = ?"
_MARKED = f"""
SELECT id FROM recordings WHERE seq IN (
    SELECT recording FROM marks WHERE principal = ? AND kind = ? AND hash = ?
) ORDER BY seq DESC LIMIT {MOST_MARKED}
"""  # noqa: S608  (a constant)
_WHOLE = f"SELECT {COLUMNS}, sum FROM recordings WHERE principal = ? AND id = ?"  # noqa: S608  (the columns are a constant)


class RecordingFinder:
    """One principal's recordings, each looked up when it is asked for. Any thread may ask."""

    def __init__(self, readers: Readers, cache: RecordingCache, principal: str, pending: Shelf | None = None) -> None:
        """`pending` are the recordings that are being written."""
        self._readers = readers
        self._cache = cache
        self._principal = principal
        self._pending = pending

    def by_id(self, id: str) -> Recording | None:
        if self._pending and (recording := self._pending.by_id(id)):
            return recording
        return self._read(id) if self._readers.rows(_EXISTS, (self._principal, id)) else None

    def by_key(self, key: bytes) -> Recording | None:
        if self._pending and (recording := self._pending.by_key(key)):
            return recording
        found = self._marked("key", key)
        return found[-1] if found else None

    def by_tool(self, id: str) -> Sequence[Recording]:
        return _joined(self._marked("tool", tool_hash(id)), self._pending.by_tool(id) if self._pending else ())

    def by_place(self, place: bytes) -> Sequence[Recording]:
        return _joined(self._marked("place", place), self._pending.by_place(place) if self._pending else ())

    def _marked(self, kind: str, hash: bytes) -> list[Recording]:
        names = self._readers.rows(_MARKED, (self._principal, kind, hash))
        return [recording for (id,) in reversed(names) if (recording := self._read(id))]

    def _read(self, id: Value) -> Recording | None:
        """None if the recording was deleted since its id was found."""
        assert isinstance(id, str)
        if kept := self._cache.get(self._principal, id):
            return kept
        for row in self._readers.rows(_WHOLE, (self._principal, id)):
            recording = verified_recording(row)
            if recording.whole:  # a cut recording may still be under way, and then another replaces it
                self._cache.add(recording)
            return recording
        return None


def _joined(written: list[Recording], pending: Sequence[Recording]) -> Sequence[Recording]:
    """The written recordings, then those being written; a recording that is both counts as the newer."""
    if not pending:
        return written
    names = {each.id for each in pending}
    return [*(each for each in written if each.id not in names), *pending]


class _LookupRun:
    """One look-up of a request, recording by recording."""

    def __init__(self, finder: RecordingFinder, wanted: Lookup, check: Callable[[], None]) -> None:
        """`check` is called before each select."""
        self._finder = finder
        self._wanted = wanted
        self._check = check
        self._found: dict[str, Recording] = {}
        self.failure: StoreError | None = None

    def recordings(self) -> tuple[Recording, ...]:
        """Those with a wanted key last, since of two with one key the newest was found, and links may lead to the other."""
        wanted, finder = self._wanted, self._finder
        exact = [each for key in wanted.keys for each in self._take(lambda key=key: [finder.by_key(key)])]
        for tool in wanted.tools:
            self._take(lambda tool=tool: finder.by_tool(tool))
        for place in wanted.places:
            self._take(lambda place=place: finder.by_place(place))
        self._take_all(wanted.ids)
        at, most = [*self._found.values()], len(self._found) + MOST_LINKED
        for _ in range(wanted.links):  # what these followed and came after, level by level: the nearest come first
            names = [name for each in at for name in (each.followed, each.strand.after) if name and name not in self._found]
            if not names or len(self._found) >= most:
                break
            at = self._take_all(dict.fromkeys(names))
        last = {each.id: each for each in exact}
        return (*(each for each in self._found.values() if each.id not in last), *last.values())

    def _take_all(self, ids: Iterable[str]) -> list[Recording]:
        return [each for id in ids for each in self._take(lambda id=id: [self._finder.by_id(id)])]

    def _take(self, look_up: Callable[[], Sequence[Recording | None]]) -> list[Recording]:
        self._check()
        try:
            new = [each for each in look_up() if each is not None]
        except StoreError as error:
            self.failure = self.failure or error
            return []
        self._found |= {each.id: each for each in new if each.id not in self._found}
        return new


class Lookups:
    """The look-ups of one store in its file. Any thread may ask."""

    def __init__(self, readers: Readers, memory: LookupMemory) -> None:
        self._readers = readers
        self._memory = memory
        # Prepare the statements: the first one reads the schema, which takes as long as a hundred others.
        for statement, wanted in ((_EXISTS, 2), (_MARKED, 3), (_WHOLE, 2)):
            readers.rows(statement, ("",) * wanted)

    def finder(self, principal: str) -> RecordingFinder:
        return RecordingFinder(self._readers, self._memory.cache, principal, self._memory.pending.of(principal))

    def gather(self, wanted: Lookup, check: Callable[[], None]) -> LookupResult:
        principal, version = wanted.principal, self._memory.pins.version
        run = _LookupRun(self.finder(principal), wanted, check)
        recordings = run.recordings()
        thread, thread_failure = "", None
        try:
            thread = self._readers.read(thread_of, principal, wanted.session, wanted.agent) or ""
        except StoreError as error:
            thread_failure = error
        names = dict.fromkeys((thread, wanted.thread, *(each.thread for each in recordings)))
        pins: dict[str, str] = {}
        for name in filter(None, names):
            try:
                pins[name] = self._readers.read(pin_of, principal, name)
            except StoreError as error:
                thread_failure = error
        self._memory.pins.learn(principal, pins, version)
        has_pins = bool(run.failure or thread_failure)
        with suppress(StoreError):
            has_pins = has_pins and bool(self._readers.read(pinned, principal, 1))
        return LookupResult(
            recordings=recordings,
            thread=thread,
            pins=pins,
            failure=run.failure,
            thread_failure=thread_failure,
            has_pins=has_pins,
        )

    def refresh_pins(self) -> str:
        generation = self._readers.read(settings, PINS).get(GENERATION, "")
        self._memory.pins.renew(generation)
        return generation
