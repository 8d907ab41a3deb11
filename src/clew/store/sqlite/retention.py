"""Retention: deleting what is too old or too much, and whether this machine's clock can be believed for that.

Age counts from the last use. Usage stays longer, since what was spent remains spent, and it holds no text. Bodies go first:
nothing needs them, and they take the most room.

A clock that is ahead makes everything old. So the time of each check is kept in the store. A clock that is a week and more
past the last check is in doubt (past the newest row, before the first check): the machine was off for long, or the clock is
wrong, at a start or in the middle of a run. For a day from then on nothing is deleted for its age. A clock that is set back
is not in doubt: it makes nothing older. The doubt is kept too. Otherwise the first turn that is recorded under a wrong clock
would be the newest row, and the next start would believe the clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from time import monotonic
from typing import Final

from clew.store.rows import Row
from clew.store.sqlite.database import Database
from clew.store.sqlite.deletions import RECORDINGS, STEP_SECONDS, delete_recordings, delete_some, prune_notes
from clew.store.sqlite.queries import settings
from clew.store.sqlite.search import sweep
from clew.store.sqlite.writes import set_setting
from clew.store.values import DAY, ClockDoubt, Retention

FREED_PAGES: Final = 500
"""Pages that are given back to the disk in one transaction. What is free for longer is used again anyway."""
TEXTLESS: Final = 200
"""Records without text that are deleted in one transaction, at the end of a round."""
_PAGES_AT_A_TIME: Final = 100

CLOCK_SCOPE: Final = "clock"
"""The scope of the settings in which the checks of the clock are kept."""
LEAP: Final = 7 * DAY
WAIT: Final = DAY
_SEEN, _SINCE, _BEFORE = "seen", "doubted-since", "believed-before"

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
        count = _delete_unused(connection, limit) or _execute(connection, _OLD_BODIES, limit)
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
    kept = {_SEEN: now, _SINCE: doubt.since if doubt else None, _BEFORE: doubt.before if doubt else None}
    for name, value in kept.items():
        set_setting(connection, CLOCK_SCOPE, name, None if value is None else repr(value), now)
    return doubt


def clock_doubt(connection: Database, now: float) -> ClockDoubt | None:
    """What a check at this moment would say. Nothing is noted."""
    kept = {name: float(value) for name, value in settings(connection, CLOCK_SCOPE).items()}
    last = kept[_SEEN] if _SEEN in kept else connection.execute(_NEWEST).get
    if isinstance(last, float) and now > last + LEAP:
        return ClockDoubt(now, last, is_new=True)
    since = kept.get(_SINCE)
    if since is not None and since <= now < since + WAIT:
        return ClockDoubt(since, kept[_BEFORE])
    return None
