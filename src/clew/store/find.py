"""Finding recordings: one by one, or all that a request needs in one select.

One by one is two steps: which recordings it is (one or two descents of an index, a few microseconds) and, unless it was read
lately, what they hold. An event loop may ask for a few.

A request names its answers by block keys, tool ids and places; the answers name others by what they followed and what their
strand comes after. `gather` does both in one statement: the marks give the first recordings, and a recursion follows the
links until there are none, or enough. Order is that of recording, so that of two with one key the newer is found, as on any
shelf.

`CROSS JOIN` is SQLite's way to fix the order of a join: each wanted mark is one descent. Left to itself, the planner walks
all marks of the principal for each.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Final

from clew.model.recording import Recording, Shelf
from clew.store.database import Database, Value
from clew.store.decoded import Decoded
from clew.store.readers import Readers
from clew.store.rows import COLUMNS, recording_as_written, tool_hash

__all__ = ["ALIKE", "LINKED", "Found", "gather", "warm"]

ALIKE: Final = 256
"""Recordings with one mark that are looked at, the newest. Keys and tool ids are unique, or nearly; a place is not: whoever
asks the same first question a thousand times has a thousand answers at one place, and nobody shall wait for all of them."""

LINKED: Final = 2000
"""Recordings that `gather` takes beyond those that the request points at. Links may lead back over years."""

_IS_THERE = "SELECT id FROM recordings WHERE principal = ? AND id = ?"
_MARKED = f"""
SELECT id FROM recordings WHERE seq IN (
    SELECT recording FROM marks WHERE principal = ? AND kind = ? AND hash = ?
) ORDER BY seq DESC LIMIT {ALIKE}
"""  # noqa: S608  (a constant)
_WHOLE = f"SELECT {COLUMNS}, sum FROM recordings WHERE principal = ? AND id = ?"  # noqa: S608  (the columns are a constant)
_GATHER = f"""
WITH RECURSIVE linked (seq) AS (
    SELECT marks.recording FROM json_each(:wanted) AS wanted
    CROSS JOIN marks
        ON marks.principal = :principal AND marks.kind = wanted.value ->> 0 AND marks.hash = unhex(wanted.value ->> 1)
    UNION
    SELECT earlier.seq FROM linked
    JOIN recordings AS later ON later.seq = linked.seq
    JOIN recordings AS earlier ON earlier.principal = :principal AND earlier.id IN (later.after, later.followed)
    LIMIT :most
)
SELECT {COLUMNS}, sum FROM recordings WHERE seq IN linked ORDER BY seq
"""  # noqa: S608  (the columns are a constant)


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


def gather(
    connection: Database, principal: str, keys: Iterable[bytes], tools: Iterable[str], places: Iterable[bytes]
) -> Shelf:
    """The nearest first, if there are too many: what the request points at, then what that points at, and so on."""
    wanted = [
        *(("key", key.hex()) for key in keys),
        *(("tool", tool_hash(id).hex()) for id in tools),
        *(("place", place.hex()) for place in places),
    ]
    bindings = {"wanted": json.dumps(wanted), "principal": principal, "most": len(wanted) + LINKED}
    rows = connection.execute(_GATHER, bindings) if wanted else ()
    return Shelf(recording_as_written(row) for row in rows)
