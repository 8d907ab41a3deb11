"""Finding recordings: one by one, or all that a request needs in one select.

A request names its answers by block keys, tool ids and places; the answers name others by what they followed and what their
strand comes after. `gather` does both in one statement: the marks give the first recordings, and a recursion follows the
links until there are none. Order is that of recording, so that of two with one key the newer is found, as on any shelf.

`CROSS JOIN` is SQLite's way to fix the order of a join: each wanted mark is one descent. Left to itself, the planner walks
all marks of the principal for each.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from clew.model.recording import Recording, Shelf
from clew.store.database import Database
from clew.store.readers import Readers
from clew.store.rows import COLUMNS, recording_of_row, tool_hash

__all__ = ["Found", "gather"]

_BY_ID = f"SELECT {COLUMNS} FROM recordings WHERE principal = ? AND id = ?"  # noqa: S608  (the columns are a constant)
_BY_MARK = f"""
SELECT {COLUMNS} FROM recordings WHERE seq IN (
    SELECT recording FROM marks WHERE principal = ? AND kind = ? AND hash = ?
) ORDER BY seq
"""  # noqa: S608  (the columns are a constant)
_GATHER = f"""
WITH RECURSIVE linked (seq) AS (
    SELECT marks.recording FROM json_each(:wanted) AS wanted
    CROSS JOIN marks
        ON marks.principal = :principal AND marks.kind = wanted.value ->> 0 AND marks.hash = unhex(wanted.value ->> 1)
    UNION
    SELECT earlier.seq FROM linked
    JOIN recordings AS later ON later.seq = linked.seq
    JOIN recordings AS earlier ON earlier.principal = :principal AND earlier.id IN (later.after, later.followed)
)
SELECT {COLUMNS} FROM recordings WHERE seq IN linked ORDER BY seq
"""  # noqa: S608  (the columns are a constant)


class Found:
    """One principal's recordings, each looked up when it is asked for."""

    def __init__(self, readers: Readers, principal: str) -> None:
        self._readers = readers
        self._principal = principal

    def by_id(self, id: str) -> Recording | None:
        found = self._select(_BY_ID, self._principal, id)
        return found[0] if found else None

    def by_key(self, key: bytes) -> Recording | None:
        found = self._select(_BY_MARK, self._principal, "key", key)
        return found[-1] if found else None

    def by_tool(self, id: str) -> Sequence[Recording]:
        return self._select(_BY_MARK, self._principal, "tool", tool_hash(id))

    def by_place(self, place: bytes) -> Sequence[Recording]:
        return self._select(_BY_MARK, self._principal, "place", place)

    def _select(self, statement: str, *bindings: str | bytes) -> list[Recording]:
        with self._readers.use() as connection:
            return [recording_of_row(row) for row in connection.execute(statement, bindings)]


def gather(
    connection: Database, principal: str, keys: Iterable[bytes], tools: Iterable[str], places: Iterable[bytes]
) -> Shelf:
    wanted = [
        *(("key", key.hex()) for key in keys),
        *(("tool", tool_hash(id).hex()) for id in tools),
        *(("place", place.hex()) for place in places),
    ]
    rows = connection.execute(_GATHER, {"wanted": json.dumps(wanted), "principal": principal}) if wanted else ()
    return Shelf(recording_of_row(row) for row in rows)
