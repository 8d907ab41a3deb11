"""Forgetting: a thread on request, and whatever is too old or too much.

Losing a recording is no error anywhere in clew: the client's own copy then goes as it came. So there is no order to keep and
nothing to repair; only that nothing half of it stays: marks and exchange go with their recording. Age counts from the last
use. Usage stays longer, since what was spent remains spent, and it holds no words. Bodies go first: nothing needs them, and
they take the most room.

What is deleted is overwritten in the file (`secure_delete`, of SQLite and of its index of words), the index is swept for
what it would remember, and the writer empties the log before it reports that it is done.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from clew.errors import RecordCorrupt
from clew.store.database import Database, Row, Value
from clew.store.forgotten import Deletion, note, prune
from clew.store.rows import COLUMNS, marks_of, recording_of_row
from clew.store.values import Retention
from clew.store.words import sweep

__all__ = ["BATCH", "close_open", "forget", "forget_some", "retain"]

BATCH = 10
"""Records that go in one transaction: some tens of milliseconds, well within what a turn may wait for its commit. Most of it
is taking their words out of the index, one by one."""

FREED = 2000
"""Pages that are given back to the disk in one transaction. What is free for longer is used again anyway."""

_ROWS = f"SELECT {COLUMNS}, seq FROM recordings"  # noqa: S608  (the columns are a constant)
_TOO_OLD = f"{_ROWS} WHERE used < ? ORDER BY used LIMIT ?"
_OLDEST = f"{_ROWS} ORDER BY used, seq LIMIT 1"
_IN_THREAD = "SELECT recording FROM turns WHERE principal = ?1 AND thread = ?2"
_OF_THREAD = f"{_ROWS} WHERE principal = ?1 AND id IN ({_IN_THREAD})"

_UNMARK = "DELETE FROM marks WHERE principal = ? AND kind = ? AND hash = ? AND recording = ?"
_EXCHANGE_OF = "DELETE FROM exchanges WHERE principal = ? AND thread = ? AND recording = ?"
_EMPTY_THREADS = """
DELETE FROM threads
WHERE NOT EXISTS (SELECT 1 FROM turns WHERE turns.principal = threads.principal AND turns.thread = threads.id)
"""
_NOBODYS = """
DELETE FROM settings WHERE name LIKE 'calls-begun:%' AND NOT EXISTS (
    SELECT 1 FROM threads WHERE threads.principal = scope AND 'calls-begun:' || threads.id = name
)
"""
_UNANSWERED = """
DELETE FROM exchanges WHERE seq IN (SELECT seq FROM turns WHERE recording IS NULL AND at < ? ORDER BY at, seq LIMIT ?)
"""
_OLD_BODIES = "DELETE FROM bodies WHERE seq IN (SELECT seq FROM bodies WHERE at < ? ORDER BY seq LIMIT ?)"
_OLDEST_BODIES = "DELETE FROM bodies WHERE seq = (SELECT min(seq) FROM bodies)"
_COUNTS = """
DELETE FROM exchanges WHERE seq IN (SELECT seq FROM exchanges WHERE kind <> 'messages' AND ended < ? ORDER BY ended LIMIT ?)
"""


def forget_some(connection: Database, deletion: Deletion) -> int:
    """Delete a bite of a thread's answers, the newest first. How many went."""
    if not note(connection, deletion):
        return 0
    rows = connection.execute(f"{_OF_THREAD} ORDER BY seq DESC LIMIT {BATCH}", deletion[:2]).fetchall()
    _delete(connection, rows)
    return len(rows)


def forget(connection: Database, deletion: Deletion) -> bool:
    """Delete a thread and all that it holds."""
    if not note(connection, deletion):
        return False
    named = deletion[:2]
    _delete(connection, connection.execute(_OF_THREAD, named).fetchall())
    connection.execute("DELETE FROM exchanges WHERE principal = ? AND thread = ?", named)
    connection.execute("DELETE FROM threads WHERE principal = ? AND id = ?", named)
    sweep(connection)
    return True


def close_open(connection: Database, principal: str, exchange: str) -> bool:
    """Take away what was kept of an exchange that was under way; its turn is about to be kept anew. False if it is over."""
    named = (principal, exchange)
    found = connection.execute("SELECT 1 FROM exchanges WHERE principal = ? AND id = ? AND outcome = 'open'", named).get
    if found is None:
        return False
    _delete(connection, connection.execute(f"{_ROWS} WHERE principal = ? AND id = ?", named).fetchall())
    connection.execute("DELETE FROM usage WHERE principal = ? AND exchange = ?", named)
    connection.execute("DELETE FROM exchanges WHERE principal = ? AND id = ?", named)
    return True


def retain(connection: Database, retention: Retention, now: float) -> int:
    """Delete up to a batch of what is too old, else of what is too much, else what that left behind. How many went."""
    limit = -inf if retention.age is None else now - retention.age
    gone = _too_old(connection, limit) or _too_much(connection, retention.bytes) or _left_behind(connection, limit)
    prune(connection, now)
    if not gone and retention.usage_age is not None:
        connection.execute("DELETE FROM usage WHERE at < ?", (now - retention.usage_age,))
    sweep(connection)
    connection.execute(f"PRAGMA incremental_vacuum({FREED})").fetchall()
    return gone


def _too_old(connection: Database, limit: float) -> int:
    """By indexes that have the oldest first."""
    rows = connection.execute(_TOO_OLD, (limit, BATCH)).fetchall()
    _delete(connection, rows)
    return len(rows) or _changes(connection, _OLD_BODIES, limit, BATCH) or _changes(connection, _COUNTS, limit, BATCH)


def _too_much(connection: Database, limit: int | None) -> int:
    """One by one: bodies, then recordings, the longest unused first, then what never had an answer."""
    gone = 0
    while limit is not None and gone < BATCH and _bytes(connection) > limit:
        if not (step := _oldest(connection)):
            break
        gone += step
    return gone


def _left_behind(connection: Database, limit: float) -> int:
    """What must be searched for, so it comes last and is not done with every bite."""
    connection.execute("DELETE FROM strangers WHERE seen < ?", (limit,))
    turns = _changes(connection, _UNANSWERED, limit, BATCH)
    connection.execute(_EMPTY_THREADS)
    connection.execute(_NOBODYS)
    return turns


def _oldest(connection: Database) -> int:
    """Delete what can be spared most. How many records that were."""
    if bodies := _changes(connection, _OLDEST_BODIES):
        return bodies
    rows = connection.execute(_OLDEST).fetchall()
    _delete(connection, rows)
    return len(rows) or _changes(connection, _UNANSWERED, inf, 1) or _changes(connection, _COUNTS, inf, 1)


def _changes(connection: Database, statement: str, *bindings: float) -> int:
    connection.execute(statement, bindings)
    return connection.changes()


def _bytes(connection: Database) -> int:
    """What the file holds, without what is free in it."""
    row = connection.execute(
        "SELECT (page_count - freelist_count) * page_size"
        " FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size()"
    ).get
    assert isinstance(row, int)
    return row


def _delete(connection: Database, rows: Iterable[Row]) -> None:
    """Recordings with their marks and exchanges."""
    for *columns, seq in rows:
        principal, id, thread = columns[:3]  # as COLUMNS begins
        _unmark(connection, tuple(columns), seq)
        connection.execute("DELETE FROM recordings WHERE seq = ?", (seq,))
        connection.execute(_EXCHANGE_OF, (principal, thread, id))


def _unmark(connection: Database, columns: Row, seq: Value) -> None:
    """By what the recording says; one that cannot be read must go too, and its marks are searched for."""
    try:
        recording = recording_of_row(columns)
    except RecordCorrupt:
        connection.execute("DELETE FROM marks WHERE principal = ? AND recording = ?", (columns[0], seq))
    else:
        marks = [(recording.principal, kind, hash, seq) for kind, hash in marks_of(recording)]
        connection.executemany(_UNMARK, marks)
