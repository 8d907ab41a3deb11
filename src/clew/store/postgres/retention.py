"""Retention: deleting what is too old or too much, in small steps; days of bodies and months of usage as a whole, one in a
step.

Age counts from the last use. The size is that of the recordings' content and of the tables of bodies: PostgreSQL gives the
room of deleted rows back to itself and not to the disk, so the size of a table would never fall. A clock that is ahead makes
everything old, so it is checked (`clew.store.clock_checks`).
"""

from __future__ import annotations

from math import inf
from typing import Final

from clew.store.clock_checks import CLOCK_SCOPE, doubt_of, notes_of
from clew.store.postgres.database import PostgresDatabase
from clew.store.postgres.deletions import delete_exchanges, delete_recordings, delete_thread_rows, prune_notes
from clew.store.postgres.partitions import drop, make_partitions, oldest_day, oldest_month
from clew.store.postgres.queries import settings
from clew.store.postgres.settings import set_setting
from clew.store.values import DAY, ClockDoubt, Retention

BATCH: Final = 20
"""Records that are deleted in one transaction at most: turns wait meanwhile."""
TEXTLESS: Final = 500
"""Records without text that are deleted in one transaction."""

_LOCK: Final = 0x636C6578
"""The advisory lock of the one that deletes."""
_IS_ALONE: Final = "SELECT pg_try_advisory_xact_lock($1)"
_EVERY_DAY: Final = (1 << 31) - 1
"""A day behind all others."""

_UNUSED: Final = "SELECT seq FROM clew.uses WHERE used < $1::float8 ORDER BY used, seq LIMIT $2"
_COUNTS: Final = """
SELECT principal, id FROM clew.exchanges WHERE kind <> 'messages' AND ended < $1::float8 ORDER BY ended LIMIT $2
"""
_UNANSWERED: Final = """
SELECT principal, id, thread FROM clew.exchanges
WHERE kind = 'messages' AND recording IS NULL AND ended < $1::float8 ORDER BY ended LIMIT $2
"""
_OLD_BODIES: Final = """
DELETE FROM clew.bodies WHERE (day, principal, exchange) IN (
    SELECT day, principal, exchange FROM clew.bodies WHERE day < $1 ORDER BY day, seq LIMIT $2)
"""
_OLD_PIECES: Final = """
DELETE FROM clew.pieces WHERE (day, seq) IN (SELECT day, seq FROM clew.pieces WHERE day < $1 LIMIT $2)
"""
_STRANGERS: Final = """
DELETE FROM clew.strangers WHERE (principal, key) IN (
    SELECT principal, key FROM clew.strangers WHERE seen < $1::float8 LIMIT $2)
"""
_USAGE: Final = """
DELETE FROM clew.usage_other WHERE (principal, exchange, at) IN (
    SELECT principal, exchange, at FROM clew.usage_other WHERE at < $1::float8 LIMIT $2)
"""
_EMPTY: Final = """
SELECT 1 FROM clew.exchanges WHERE principal = $1 AND thread = $2 AND kind = 'messages' LIMIT 1
"""
_ROOM: Final = """
SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class WHERE relnamespace = 'clew'::regnamespace AND relkind = 'r'
"""
"""All that the tables take on the disk, used or free: known without reading them."""
_BYTES: Final = """
SELECT coalesce((SELECT sum(bytes) FROM clew.uses), 0)::bigint
    + coalesce((SELECT sum(pg_column_size(kept)) FROM clew.bodies), 0)::bigint
    + (SELECT count(*) FROM clew.exchanges WHERE kind <> 'messages') * 300
    + (SELECT count(*) FROM clew.exchanges WHERE kind = 'messages' AND recording IS NULL) * 300
"""
_NEWEST: Final = """
SELECT max(at) FROM (
    SELECT max(ended) AS at FROM clew.exchanges UNION ALL SELECT max(used) FROM clew.uses
    UNION ALL SELECT max(at) FROM clew.bodies UNION ALL SELECT max(at) FROM clew.usage
) AS newest
"""


def apply_retention(database: PostgresDatabase, retention: Retention, now: float) -> int:
    """Delete some of what is too old, else of what is too much, else what these left behind. Returns how many records. Of
    several gateways one does it, since they would wait for each other's rows; for another one there is nothing to do."""
    if not database.value(_IS_ALONE, _LOCK):
        return 0
    make_partitions(database, now)
    limit = -inf if retention.age is None else now - retention.age
    used_since = -inf if retention.usage_age is None else now - retention.usage_age
    dropped = _drop_some(database, retention.bodies_limit(now), used_since)
    count = _delete_unused(database, limit) or _delete_bodies(database, retention.bodies_limit(now))
    count = count or _delete_counts(database, limit)
    count = count or _delete_surplus(database, retention.bytes)
    if not count:
        count = _delete_unanswered(database, limit) or database.run(_STRANGERS, limit, TEXTLESS)
    count = count or database.run(_USAGE, used_since, TEXTLESS)
    prune_notes(database, now)
    return count or dropped


def _drop_some(database: PostgresDatabase, bodies_since: float, used_since: float) -> int:
    """The oldest day and the oldest month, if they are too old. Returns how many of the two."""
    found = (oldest_day(database, bodies_since), oldest_month(database, used_since))
    return sum(drop(database, names) for names in found if names)


def _delete_surplus(database: PostgresDatabase, limit: int | None) -> int:
    """Delete what is least useful if there is too much: bodies, then recordings, the longest unused first."""
    if limit is None or _number(database, _ROOM) <= limit or _number(database, _BYTES) <= limit:
        return 0
    return (
        _delete_bodies(database, inf)
        or _delete_unused(database, inf)
        or _delete_unanswered(database, inf)
        or _delete_counts(database, inf)
    )


def _delete_unused(database: PostgresDatabase, limit: float) -> int:
    """Delete the recordings that were unused for longest, if their last use was before `limit`."""
    places = [int(seq) for (seq,) in database.rows(_UNUSED, limit, BATCH) if isinstance(seq, int)]
    _delete_empty_threads(database, delete_recordings(database, places))
    return len(places)


def _delete_bodies(database: PostgresDatabase, limit: float) -> int:
    """Those that are in no table of their own day, or all: then there is too much, and nothing needs them."""
    if limit == -inf:
        return 0
    if limit != inf and oldest_day(database, limit):
        return 0  # they are dropped with their table
    day = _EVERY_DAY if limit == inf else int(limit // DAY)
    return database.run(_OLD_BODIES, day, TEXTLESS) or database.run(_OLD_PIECES, day, TEXTLESS)


def _number(database: PostgresDatabase, statement: str) -> int:
    found = database.value(statement)
    return found if isinstance(found, int) else 0


def _delete_counts(database: PostgresDatabase, limit: float) -> int:
    rows = database.rows(_COUNTS, limit, BATCH)
    delete_exchanges(database, [(str(principal), str(id)) for principal, id in rows])
    return len(rows)


def _delete_unanswered(database: PostgresDatabase, limit: float) -> int:
    rows = [(str(principal), str(id), str(thread)) for principal, id, thread in database.rows(_UNANSWERED, limit, BATCH)]
    delete_exchanges(database, [(principal, id) for principal, id, _ in rows])
    _delete_empty_threads(database, [(principal, thread) for principal, _, thread in rows])
    return len(rows)


def _delete_empty_threads(database: PostgresDatabase, threads: list[tuple[str, str]]) -> None:
    """Delete those of these threads that lost their last turn."""
    delete_thread_rows(database, [each for each in dict.fromkeys(threads) if database.value(_EMPTY, *each) is None])


def check_clock(database: PostgresDatabase, now: float) -> ClockDoubt | None:
    """Check the clock and note the check, in a transaction of the writer."""
    doubt = clock_doubt(database, now)
    for name, value in notes_of(doubt, now).items():
        set_setting(database, CLOCK_SCOPE, name, value, now)
    return doubt


def clock_doubt(database: PostgresDatabase, now: float) -> ClockDoubt | None:
    """What a check at this moment would say. Nothing is noted."""
    newest = database.value(_NEWEST)
    return doubt_of(settings(database, CLOCK_SCOPE), newest if isinstance(newest, float) else None, now)
