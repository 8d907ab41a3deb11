"""Finding recordings: one by one, or all that a request needs in one go.

Each takes two steps: which recordings it is (one or two descents of an index, a few microseconds) and, unless it was read
lately, what they hold. A request names its answers by block keys, tool ids and places; the answers name others by what they
followed and what their strand comes after. There is no way to the file that is worth saving, so a look-up is as many small
selects as it has names, and each may fail by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from clew.errors import StoreError
from clew.model.recording import Recording, Shelf
from clew.store.decoded import Decoded
from clew.store.lookup import Lookup
from clew.store.sqlite.database import Value
from clew.store.sqlite.readers import Readers
from clew.store.sqlite.rows import COLUMNS, recording_as_written, tool_hash

__all__ = ["ALIKE", "LINKED", "Found", "Gathering", "warm"]

ALIKE: Final = 256
"""Recordings with one mark that are looked at, the newest. Keys and tool ids are unique, or nearly; a place is not: whoever
asks the same first question a thousand times has a thousand answers at one place, and nobody shall wait for all of them."""

LINKED: Final = 2000
"""Recordings that a look-up takes beyond those that the request points at. Links may lead back over years."""

_IS_THERE = "SELECT id FROM recordings WHERE principal = ? AND id = ?"
_MARKED = f"""
SELECT id FROM recordings WHERE seq IN (
    SELECT recording FROM marks WHERE principal = ? AND kind = ? AND hash = ?
) ORDER BY seq DESC LIMIT {ALIKE}
"""  # noqa: S608  (a constant)
_WHOLE = f"SELECT {COLUMNS}, sum FROM recordings WHERE principal = ? AND id = ?"  # noqa: S608  (the columns are a constant)


def warm(readers: Readers) -> None:
    """Prepare the look-ups. The first one reads the schema, which takes as long as a hundred others."""
    for statement, wanted in ((_IS_THERE, 2), (_MARKED, 3), (_WHOLE, 2)):
        readers.rows(statement, ("",) * wanted)


class Found:
    """One principal's recordings, each looked up when it is asked for. Any thread may ask."""

    def __init__(self, readers: Readers, decoded: Decoded, principal: str, pending: Shelf | None = None) -> None:
        """`pending` are those that are being written."""
        self._readers = readers
        self._decoded = decoded
        self._principal = principal
        self._pending = pending

    def by_id(self, id: str) -> Recording | None:
        if self._pending and (recording := self._pending.by_id(id)):
            return recording
        return self._read(id) if self._readers.rows(_IS_THERE, (self._principal, id)) else None

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
        """One that is there. Between the two looks it may have been deleted, and then it is not."""
        assert isinstance(id, str)
        if kept := self._decoded.get(self._principal, id):
            return kept
        for row in self._readers.rows(_WHOLE, (self._principal, id)):
            recording = recording_as_written(row)
            if recording.whole:  # one that was cut may still be under way, and then another takes its place
                self._decoded.add(recording)
            return recording
        return None


def _joined(written: list[Recording], pending: Sequence[Recording]) -> Sequence[Recording]:
    """What is written, then what is being written; one that is both counts as the newer."""
    if not pending:
        return written
    names = {each.id for each in pending}
    return [*(each for each in written if each.id not in names), *pending]


class Gathering:
    """One look-up of a request: what it wants, one by one, in one go. Each may fail by itself: a damaged row or page costs
    one recording."""

    def __init__(self, found: Found, wanted: Lookup, check: Callable[[], None]) -> None:
        """`check` is called before each."""
        self._found = found
        self._wanted = wanted
        self._check = check
        self._there: dict[str, Recording] = {}
        self.failure: StoreError | None = None

    def recordings(self) -> tuple[Recording, ...]:
        """Those with a wanted key last, since of two with one key the newest was found, and links may lead to the other."""
        wanted, found = self._wanted, self._found
        exact = [each for key in wanted.keys for each in self._take(lambda key=key: [found.by_key(key)])]
        for tool in wanted.tools:
            self._take(lambda tool=tool: found.by_tool(tool))
        for place in wanted.places:
            self._take(lambda place=place: found.by_place(place))
        self._take_all(wanted.ids)
        self._follow()
        last = {each.id: each for each in exact}
        return (*(each for each in self._there.values() if each.id not in last), *last.values())

    def _follow(self) -> None:
        """What these followed and came after, level by level, so that the nearest come first."""
        at, most = [*self._there.values()], len(self._there) + LINKED
        for _ in range(self._wanted.links):
            names = [name for each in at for name in (each.followed, each.strand.after) if name and name not in self._there]
            if not names or len(self._there) >= most:
                break
            at = self._take_all(dict.fromkeys(names))

    def _take_all(self, ids: Iterable[str]) -> list[Recording]:
        return [each for id in ids for each in self._take(lambda id=id: [self._found.by_id(id)])]

    def _take(self, look_up: Callable[[], Sequence[Recording | None]]) -> list[Recording]:
        self._check()
        try:
            new = [each for each in look_up() if each is not None]
        except StoreError as error:
            self.failure = self.failure or error
            return []
        self._there |= {each.id: each for each in new if each.id not in self._there}
        return new
