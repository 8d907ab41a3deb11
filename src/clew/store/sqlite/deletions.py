"""Deleting a thread on request, so that nothing of its text is left, and none comes back.

Losing a recording is no error anywhere in clew: the client's own copy then goes as it came. So there is no order to keep and
nothing to repair; only nothing half may stay: marks and exchange are deleted with their recording. What is deleted is
overwritten in the file (`secure_delete`, of SQLite and of its index of words), the index is swept for words that it would
remember, and the writer empties the log before it reports that it is done.

A process that deletes a thread cannot know which answers are just under way in it: in this process, in another one, for a
client that has been silent for minutes. So the deletion is noted, and the transaction that records a turn looks for the
note: a turn that began before the deletion is kept without its text, however late it ends. What is said afterwards began
afterwards, and is kept as usual. An import restores what it has on purpose, and does not look. The note is a hash, since a
thread's name may be chosen by a front end and mean something. It is deleted when no turn that began before can be under way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic
from typing import Final

import msgspec

from clew.errors import RecordCorrupt
from clew.model.turn import Exchange
from clew.store.deletion_notes import LONGEST, Deletion, deletion_hash, deletion_hashes
from clew.store.rows import COLUMNS, Row, marks_of, recording_of_row
from clew.store.sqlite.database import Database
from clew.store.sqlite.search import flush, sweep
from clew.store.values import Deletions

BATCH: Final = 10
"""Records that are deleted in one transaction at most."""
STEP_SECONDS: Final = 0.02
"""After so long no further record is deleted in a transaction, because turns wait meanwhile. Nearly all of the time is
taking their words out of the index, one by one, so a record may take a tenth of this, or many times as long."""

RECORDINGS: Final = f"SELECT {COLUMNS}, seq FROM recordings"  # noqa: S608  (the columns are a constant)
_IN_THREAD = "SELECT recording FROM turns WHERE principal = ?1 AND thread = ?2"
_OF_THREAD = f"{RECORDINGS} WHERE principal = ?1 AND id IN ({_IN_THREAD})"
_NEWEST_OF_THREAD = f"""
{RECORDINGS} WHERE principal = ?1 AND id IN (
    SELECT said.id FROM turns CROSS JOIN recordings AS said ON said.principal = turns.principal AND said.id = turns.recording
    WHERE turns.principal = ?1 AND turns.thread = ?2 ORDER BY turns.seq DESC LIMIT {BATCH}
) ORDER BY seq DESC
"""  # noqa: S608  (all that is put in is constant)
_MARK = "DELETE FROM marks WHERE principal = ? AND kind = ? AND hash = ? AND recording = ?"
_EXCHANGE = "DELETE FROM exchanges WHERE principal = ? AND id = ? AND thread = ? AND recording = ?"
_EXCHANGE_OF = "DELETE FROM exchanges WHERE principal = ? AND thread = ? AND recording = ?"

_IS_FORGOTTEN = "SELECT 1 FROM forgotten WHERE hash IN (?, ?) AND at >= ?"
_NOTE = "INSERT INTO forgotten VALUES (?, ?) ON CONFLICT (hash) DO UPDATE SET at = max(at, excluded.at)"
_THREAD = "SELECT session, agent FROM threads WHERE principal = ? AND id = ?"
_USAGE = """
UPDATE usage SET thread_id = '', agent_id = '' WHERE principal = ?1 AND thread_id = ?2
    AND at >= (SELECT created FROM threads WHERE principal = ?1 AND id = ?2)
"""
"""Usage stays, without the name of its thread."""
_LAST_OPEN = "SELECT max(started) FROM exchanges WHERE principal = ? AND thread = ? AND outcome = 'open'"


def delete_some_of_thread(connection: Database, deletion: Deletion) -> int:
    """Delete some of a thread's answers, the newest first. Returns how many."""
    if not _note_deletion(connection, deletion):
        return 0
    rows = connection.execute(_NEWEST_OF_THREAD, deletion[:2]).fetchall()
    count = delete_some(connection, lambda: delete_recordings(connection, [rows.pop(0)] if rows else []))
    sweep(connection)
    return count


def delete_thread(connection: Database, deletion: Deletion) -> bool:
    """Delete a thread and everything in it. False if there is no such thread."""
    if not _note_deletion(connection, deletion):
        return False
    named = deletion[:2]
    delete_recordings(connection, connection.execute(_OF_THREAD, named).fetchall())
    connection.execute("DELETE FROM exchanges WHERE principal = ? AND thread = ?", named)
    connection.execute(_USAGE, named)
    connection.execute("DELETE FROM threads WHERE principal = ? AND id = ?", named)
    sweep(connection)
    return True


def discard_open(connection: Database, principal: str, exchange: str) -> bool:
    """Delete an exchange that is open, because its turn is about to be recorded again. False if it is over."""
    named = (principal, exchange)
    found = connection.execute("SELECT 1 FROM exchanges WHERE principal = ? AND id = ? AND outcome = 'open'", named).get
    if found is None:
        return False
    delete_recordings(connection, connection.execute(f"{RECORDINGS} WHERE principal = ? AND id = ?", named).fetchall())
    connection.execute("DELETE FROM usage WHERE principal = ? AND exchange = ?", named)
    connection.execute("DELETE FROM exchanges WHERE principal = ? AND id = ?", named)
    return True


def delete_some(connection: Database, step: Callable[[], int]) -> int:
    """Repeat a step that deletes a record, until it finds none or the time is over. Returns how many were deleted."""
    until, count = monotonic() + STEP_SECONDS, 0
    while count < BATCH and (count == 0 or monotonic() < until) and (more := step()):
        flush(connection)  # so that the time includes the index of words
        count += more
    return count


def delete_recordings(connection: Database, rows: Sequence[Row]) -> int:
    """Delete recordings with their marks and exchanges. Returns how many recordings there were."""
    for *columns, seq in rows:
        principal, id, thread = columns[:3]  # as COLUMNS begins
        try:
            marks = marks_of(recording_of_row(tuple(columns)))
            connection.executemany(_MARK, [(principal, kind, hash, seq) for kind, hash in marks])
        except RecordCorrupt:  # an unreadable recording does not say which marks are its own
            connection.execute("DELETE FROM marks WHERE principal = ? AND recording = ?", (principal, seq))
        connection.execute("DELETE FROM recordings WHERE seq = ?", (seq,))
        connection.execute(_EXCHANGE, (principal, id, thread, id))  # nearly all have the name of their recording
        if not connection.changes():
            connection.execute(_EXCHANGE_OF, (principal, thread, id))
    return len(rows)


def deletions(connection: Database) -> Deletions:
    """How many deletions are noted, and when the last one was."""
    [row] = connection.execute("SELECT count(*), coalesce(max(at), 0.0) FROM forgotten")
    return msgspec.convert(row, Deletions)


def _note_deletion(connection: Database, deletion: Deletion) -> bool:
    """False if there is no such thread."""
    principal, thread, at, agents = deletion
    found = connection.execute(_THREAD, (principal, thread)).fetchone()
    if found is None:
        return False
    last = connection.execute(_LAST_OPEN, (principal, thread)).get
    until = max(at, last) if isinstance(last, float) else at  # a clock that was set back spares no answer under way
    connection.execute(_NOTE, (deletion_hash(b"thread", principal, thread), until))
    session, agent = found
    if agents and session and not agent:
        connection.execute(_NOTE, (deletion_hash(b"session", principal, str(session)), until))
    return True


def is_forgotten(connection: Database, exchange: Exchange) -> bool:
    """Whether its thread was deleted after it began."""
    return connection.execute(_IS_FORGOTTEN, (*deletion_hashes(exchange), exchange.started)).get is not None


def prune_notes(connection: Database, now: float) -> None:
    """Delete the notes of deletions that no answer under way can be affected by."""
    connection.execute("DELETE FROM forgotten WHERE at < ?", (now - LONGEST,))
