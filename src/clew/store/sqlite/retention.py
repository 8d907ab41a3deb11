"""Retention: deleting what is too old or too much, and whether this machine's clock can be believed for that.

Age counts from the last use. Usage stays longer, since what was spent remains spent, and it holds no text. Bodies go first:
nothing needs them, and they take the most room.

A clock that is ahead makes everything old, so it is checked (`clew.store.clock_checks`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from time import monotonic
from typing import Final

from clew.store.clock_checks import CLOCK_SCOPE, doubt_of, notes_of
from clew.store.rows import Row
from clew.store.sqlite.database import Database
from clew.store.sqlite.deletions import RECORDINGS, STEP_SECONDS, delete_recordings, delete_some, prune_notes
from clew.store.sqlite.queries import settings
from clew.store.sqlite.search import sweep
from clew.store.sqlite.writes import set_setting
from clew.store.values import ClockDoubt, Retention

FREED_PAGES: Final = 500
"""Pages that are given back to the disk in one transaction. What is free for longer is used again anyway."""
TEXTLESS: Final = 200
"""Records without text that are deleted in one transaction, at the end of a round."""
_PAGES_AT_A_TIME: Final = 100

_UNUSED = f"{RECORDINGS} WHERE used < ? ORDER BY used, seq LIMIT 1"
_EMPTY_THREAD = """
DELETE FROM threads WHERE principal = ?1 AND id = ?2
    AND NOT EXISTS (SELECT 1 FROM turns WHERE turns.principal = ?1 AND turns.thread = ?2)
"""
_ORPHANED_CALLS = """
DELETE FROM settings WHERE name LIKE 'calls-begun:%' AND NOT EXISTS (
    SELECT 1 FROM threads WHERE threads.principal = scope AND threads.id = substr(name, length('calls-begun:') + 1)
)
"""
_UNANSWERED = """
DELETE FROM exchanges WHERE seq = (SELECT seq FROM turns WHERE recording IS NULL AND at < ? ORDER BY at, seq LIMIT 1)
RETURNING principal, thread
"""
_OLD_BODIES = "DELETE FROM bodies WHERE seq = (SELECT min(seq) FROM bodies) AND at < ?"
"""They come in the order of their time, or nearly. Looking for any other old body would read them all."""
_COUNTS = """
DELETE FROM exchanges WHERE seq = (SELECT seq FROM exchanges WHERE kind <> 'messages' AND ended < ? ORDER BY ended LIMIT 1)
"""
_STRANGERS = """
DELETE FROM strangers WHERE (principal, key) IN (SELECT principal, key FROM strangers WHERE seen < ? LIMIT ?)
"""
_USAGE = "DELETE FROM usage WHERE (principal, exchange) IN (SELECT principal, exchange FROM usage WHERE at < ? LIMIT ?)"
_BYTES_IN_USE = """
SELECT (page_count - freelist_count) * page_size FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size()
"""
_NEWEST = """
SELECT max(at) FROM (
    SELECT max(ended) AS at FROM exchanges UNION ALL SELECT max(used) FROM recordings
    UNION ALL SELECT max(at) FROM bodies UNION ALL SELECT max(at) FROM usage
)
"""


def apply_retention(connection: Database, retention: Retention, now: float) -> int:
    """Delete some of what is too old, else of what is too much, else what these left behind. Returns how many records."""
    limit = -inf if retention.age is None else now - retention.age

    def delete_old() -> int:  # one record, by indexes that have the oldest first
        count = _delete_unused(connection, limit) or _execute(connection, _OLD_BODIES, retention.bodies_limit(now))
        return count or _execute(connection, _COUNTS, limit)

    count = delete_some(connection, delete_old)
    count = count or delete_some(connection, lambda: _delete_surplus(connection, retention.bytes))
    if not count:  # what must be searched for takes long, so it is not in every transaction
        connection.execute(_ORPHANED_CALLS)
        count = delete_some(connection, lambda: _delete_unanswered(connection, limit))
        count = count or _execute(connection, _STRANGERS, limit, TEXTLESS)
    if not count and retention.usage_age is not None:
        count = _execute(connection, _USAGE, now - retention.usage_age, TEXTLESS)
    prune_notes(connection, now)
    sweep(connection)
    until, left = monotonic() + STEP_SECONDS, FREED_PAGES
    while left > 0 and connection.pragma("freelist_count") and monotonic() < until:  # some pages back to the disk
        connection.execute(f"PRAGMA incremental_vacuum({_PAGES_AT_A_TIME})").fetchall()
        left -= _PAGES_AT_A_TIME
    return count


def _delete_surplus(connection: Database, limit: int | None) -> int:
    """Delete the least useful record if the store is too large: bodies, then recordings, the longest unused first, then
    turns that never had an answer."""
    if limit is None or connection.execute(_BYTES_IN_USE).get <= limit:
        return 0
    return (
        _execute(connection, _OLD_BODIES, inf)
        or _delete_unused(connection, inf)
        or _delete_unanswered(connection, inf)
        or _execute(connection, _COUNTS, inf)
    )


def _delete_unused(connection: Database, limit: float) -> int:
    """Delete the recording that was unused for longest, if its last use was before `limit`."""
    rows = connection.execute(_UNUSED, (limit,)).fetchall()
    delete_recordings(connection, rows)
    return _delete_empty_threads(connection, [(row[0], row[2]) for row in rows])  # as COLUMNS begins


def _delete_unanswered(connection: Database, limit: float) -> int:
    return _delete_empty_threads(connection, connection.execute(_UNANSWERED, (limit,)).fetchall())


def _delete_empty_threads(connection: Database, threads: Sequence[Row]) -> int:
    """Delete those of these threads that lost their last turn. Returns how many were checked. (Searching all threads for
    empty ones would take too long.)"""
    for thread in threads:
        connection.execute(_EMPTY_THREAD, thread)
    return len(threads)


def _execute(connection: Database, statement: str, *bindings: float) -> int:
    connection.execute(statement, bindings)
    return connection.changes()


def check_clock(connection: Database, now: float) -> ClockDoubt | None:
    """Check the clock and note the check, in a transaction of the writer."""
    doubt = clock_doubt(connection, now)
    for name, value in notes_of(doubt, now).items():
        set_setting(connection, CLOCK_SCOPE, name, value, now)
    return doubt


def clock_doubt(connection: Database, now: float) -> ClockDoubt | None:
    """What a check at this moment would say. Nothing is noted."""
    newest = connection.execute(_NEWEST).get
    return doubt_of(settings(connection, CLOCK_SCOPE), newest if isinstance(newest, float) else None, now)
