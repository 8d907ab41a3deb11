"""Forgetting: a thread on request, and whatever is too old or too much.

Losing a recording is no error anywhere in clew: the client's own copy then goes as it came. So there is no order to keep and
nothing to repair; only that nothing half of it stays: marks and exchange go with their recording. Age counts from the last
use. Usage stays longer, since what was spent remains spent, and it holds no words. Bodies go first: nothing needs them, and
they take the most room.

What is deleted is overwritten in the file (`secure_delete`, of SQLite and of its index of words), the index is swept for
what it would remember, and the writer empties the log before it reports that it is done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from time import monotonic

from clew.errors import RecordCorrupt
from clew.store.sqlite.database import Database, Row, Value
from clew.store.sqlite.forgotten import Deletion, note, prune
from clew.store.sqlite.rows import COLUMNS, marks_of, recording_of_row
from clew.store.sqlite.words import flush, sweep
from clew.store.values import Retention

__all__ = ["BATCH", "close_open", "forget", "forget_some", "retain"]

BATCH = 10
"""Records that go in one transaction at most."""

SECONDS = 0.02
"""After so long no further one does: turns wait meanwhile. Nearly all of it is taking their words out of the index, one by
one, so a record may take a tenth of this, or many times as long."""

FREED = 500
"""Pages that are given back to the disk in one transaction. What is free for longer is used again anyway."""

_AT_A_TIME = 100

LEFT = 200
"""Records without words that go in one transaction, at the end of a round."""

_ROWS = f"SELECT {COLUMNS}, seq FROM recordings"  # noqa: S608  (the columns are a constant)
_UNUSED = f"{_ROWS} WHERE used < ? ORDER BY used, seq LIMIT 1"
_IN_THREAD = "SELECT recording FROM turns WHERE principal = ?1 AND thread = ?2"
_OF_THREAD = f"{_ROWS} WHERE principal = ?1 AND id IN ({_IN_THREAD})"
_NEWEST_OF_THREAD = f"""
{_ROWS} WHERE principal = ?1 AND id IN (
    SELECT said.id FROM turns CROSS JOIN recordings AS said ON said.principal = turns.principal AND said.id = turns.recording
    WHERE turns.principal = ?1 AND turns.thread = ?2 ORDER BY turns.seq DESC LIMIT {BATCH}
) ORDER BY seq DESC
"""  # noqa: S608  (all that is put in is constant)

_UNMARK = "DELETE FROM marks WHERE principal = ? AND kind = ? AND hash = ? AND recording = ?"
_EXCHANGE = "DELETE FROM exchanges WHERE principal = ? AND id = ? AND thread = ? AND recording = ?"
_EXCHANGE_OF = "DELETE FROM exchanges WHERE principal = ? AND thread = ? AND recording = ?"
_EMPTY_THREAD = """
DELETE FROM threads WHERE principal = ?1 AND id = ?2
    AND NOT EXISTS (SELECT 1 FROM turns WHERE turns.principal = ?1 AND turns.thread = ?2)
"""
_NOBODYS = """
DELETE FROM settings WHERE name LIKE 'calls-begun:%' AND NOT EXISTS (
    SELECT 1 FROM threads WHERE threads.principal = scope AND threads.id = substr(name, length('calls-begun:') + 1)
)
"""
_UNANSWERED = """
DELETE FROM exchanges WHERE seq = (SELECT seq FROM turns WHERE recording IS NULL AND at < ? ORDER BY at, seq LIMIT 1)
RETURNING principal, thread
"""
_OLD_BODIES = "DELETE FROM bodies WHERE seq = (SELECT min(seq) FROM bodies) AND at < ?"
"""They come in the order of their time, or nearly. To look for any other that is old would be to read them all."""
_COUNTS = """
DELETE FROM exchanges WHERE seq = (SELECT seq FROM exchanges WHERE kind <> 'messages' AND ended < ? ORDER BY ended LIMIT 1)
"""
_STRANGERS = """
DELETE FROM strangers WHERE (principal, key) IN (SELECT principal, key FROM strangers WHERE seen < ? LIMIT ?)
"""
_USAGE = "DELETE FROM usage WHERE (principal, exchange) IN (SELECT principal, exchange FROM usage WHERE at < ? LIMIT ?)"


def forget_some(connection: Database, deletion: Deletion) -> int:
    """Delete a bite of a thread's answers, the newest first. How many went."""
    if not note(connection, deletion):
        return 0
    rows = connection.execute(_NEWEST_OF_THREAD, deletion[:2]).fetchall()
    gone = _some(connection, lambda: _delete(connection, [rows.pop(0)] if rows else []))
    sweep(connection)
    return gone


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
    """Delete a bite of what is too old, else of what is too much, else what that left behind. How many went."""
    limit = -inf if retention.age is None else now - retention.age
    gone = _some(connection, lambda: _too_old(connection, limit))
    gone = gone or _some(connection, lambda: _too_much(connection, retention.bytes))
    gone = gone or _left_behind(connection, limit)
    if not gone and retention.usage_age is not None:
        gone = _changes(connection, _USAGE, now - retention.usage_age, LEFT)
    prune(connection, now)
    sweep(connection)
    _give_back(connection)
    return gone


def _some(connection: Database, step: Callable[[], int]) -> int:
    """Record by record, until nothing goes, or it is enough. How many went."""
    until, gone = monotonic() + SECONDS, 0
    while gone < BATCH and (gone == 0 or monotonic() < until) and (more := step()):
        flush(connection)  # so that what the words took is counted
        gone += more
    return gone


def _too_old(connection: Database, limit: float) -> int:
    """One, by indexes that have the oldest first."""
    return _unused(connection, limit) or _changes(connection, _OLD_BODIES, limit) or _changes(connection, _COUNTS, limit)


def _too_much(connection: Database, limit: int | None) -> int:
    """One that can be spared most: bodies, then recordings, the longest unused first, then what never had an answer."""
    if limit is None or _bytes(connection) <= limit:
        return 0
    if bodies := _changes(connection, _OLD_BODIES, inf):
        return bodies
    return _unused(connection, inf) or _unanswered(connection, inf) or _changes(connection, _COUNTS, inf)


def _left_behind(connection: Database, limit: float) -> int:
    """What must be searched for, so it comes last and is not done with every bite."""
    connection.execute(_NOBODYS)
    return _some(connection, lambda: _unanswered(connection, limit)) or _changes(connection, _STRANGERS, limit, LEFT)


def _unused(connection: Database, limit: float) -> int:
    """The recording that was unused longest, if since before this."""
    rows = connection.execute(_UNUSED, (limit,)).fetchall()
    _delete(connection, rows)
    return _drop_empty(connection, [(row[0], row[2]) for row in rows])  # as COLUMNS begins


def _unanswered(connection: Database, limit: float) -> int:
    return _drop_empty(connection, connection.execute(_UNANSWERED, (limit,)).fetchall())


def _drop_empty(connection: Database, threads: Sequence[Row]) -> int:
    """Those that had their last turn. How many were looked at: to look for such among all takes too long."""
    for thread in threads:
        connection.execute(_EMPTY_THREAD, thread)
    return len(threads)


def _give_back(connection: Database) -> None:
    """Free pages, to the disk: some of them, and only as long as a bite may take."""
    until = monotonic() + SECONDS
    for _ in range(FREED // _AT_A_TIME):
        if not connection.pragma("freelist_count") or monotonic() > until:
            return
        connection.execute(f"PRAGMA incremental_vacuum({_AT_A_TIME})").fetchall()


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


def _delete(connection: Database, rows: Sequence[Row]) -> int:
    """Recordings with their marks and exchanges. How many those were."""
    for *columns, seq in rows:
        principal, id, thread = columns[:3]  # as COLUMNS begins
        _unmark(connection, tuple(columns), seq)
        connection.execute("DELETE FROM recordings WHERE seq = ?", (seq,))
        connection.execute(_EXCHANGE, (principal, id, thread, id))  # nearly all have the name of their recording
        if not connection.changes():
            connection.execute(_EXCHANGE_OF, (principal, thread, id))
    return len(rows)


def _unmark(connection: Database, columns: Row, seq: Value) -> None:
    """By what the recording says; one that cannot be read must go too, and its marks are searched for."""
    try:
        recording = recording_of_row(columns)
    except RecordCorrupt:
        connection.execute("DELETE FROM marks WHERE principal = ? AND recording = ?", (columns[0], seq))
    else:
        marks = [(recording.principal, kind, hash, seq) for kind, hash in marks_of(recording)]
        connection.executemany(_UNMARK, marks)
