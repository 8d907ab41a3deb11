"""Deleting a thread on request, so that none of its text is found any more, and none comes back.

What is deleted is out of every answer with the commit. PostgreSQL keeps the old rows in its pages until they are vacuumed,
which the writer starts at once; its log, its standbys and its backups have rules of their own, as the documentation says.

A gateway cannot know which answers are under way in a thread that it deletes. So the deletion is noted, and the statement
that records a turn looks for the note. What is said afterwards began afterwards, and is kept as usual.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from clew.model.turn import Exchange
from clew.store.deletion_notes import LONGEST, Deletion, deletion_hash, deletion_hashes
from clew.store.postgres.database import PostgresDatabase
from clew.store.values import Deletions

BATCH: Final = 50
"""Answers that are deleted in one transaction at most."""
CHAIN_PIECES: Final = 1 << 20

_NEWEST_OF_THREAD: Final = """
SELECT said.seq FROM clew.exchanges JOIN clew.recordings AS said
    ON said.principal = exchanges.principal AND said.id = exchanges.recording
WHERE exchanges.principal = $1 AND exchanges.thread = $2 ORDER BY exchanges.seq DESC LIMIT $3
"""
_RECORDINGS: Final = """
WITH gone AS (DELETE FROM clew.recordings WHERE seq = ANY ($1::bigint[]) RETURNING principal, id, thread),
    marks AS (DELETE FROM clew.marks WHERE recording = ANY ($1::bigint[])),
    uses AS (DELETE FROM clew.uses WHERE seq = ANY ($1::bigint[]))
SELECT exchanges.principal, exchanges.id, exchanges.thread FROM gone JOIN clew.exchanges
    ON exchanges.principal = gone.principal AND exchanges.thread = gone.thread AND exchanges.recording = gone.id
"""
_EXCHANGES: Final = """
WITH named AS (SELECT * FROM unnest($1::text[], $2::text[]) AS named (principal, id)),
    gone AS (DELETE FROM clew.exchanges USING named
        WHERE exchanges.principal = named.principal AND exchanges.id = named.id RETURNING exchanges.seq),
    words AS (DELETE FROM clew.words USING gone WHERE words.seq = gone.seq),
    natives AS (DELETE FROM clew.natives USING named
        WHERE natives.principal = named.principal AND natives.exchange = named.id),
    bodies AS (DELETE FROM clew.bodies USING named
        WHERE bodies.principal = named.principal AND bodies.exchange = named.id RETURNING chain)
SELECT DISTINCT chain FROM bodies WHERE chain IS NOT NULL
"""
_PIECES: Final = """
DELETE FROM clew.pieces WHERE seq >= $1 AND seq < $1 + $2
    AND NOT EXISTS (SELECT 1 FROM clew.bodies WHERE chain = $1)
"""
_NOTE: Final = """
INSERT INTO clew.forgotten VALUES ($1, $2) ON CONFLICT (hash) DO UPDATE SET at = greatest(forgotten.at, excluded.at)
"""
_USAGE: Final = """
UPDATE clew.usage SET thread_id = '', agent_id = '' WHERE principal = $1 AND thread_id = $2
    AND at >= (SELECT created FROM clew.threads WHERE principal = $1 AND id = $2)
"""
"""Usage stays, without the name of its thread."""
_LAST_OPEN: Final = "SELECT max(started) FROM clew.exchanges WHERE principal = $1 AND thread = $2 AND outcome = 'open'"


def delete_some_of_thread(database: PostgresDatabase, deletion: Deletion) -> int:
    """Delete some of a thread's answers, the newest first. Returns how many."""
    if not _note_deletion(database, deletion):
        return 0
    rows = database.rows(_NEWEST_OF_THREAD, deletion.principal, deletion.thread, BATCH)
    delete_recordings(database, [int(seq) for (seq,) in rows if isinstance(seq, int)])
    return len(rows)


def delete_thread(database: PostgresDatabase, deletion: Deletion) -> bool:
    """Delete a thread and everything in it. False if there is no such thread."""
    if not _note_deletion(database, deletion):
        return False
    named = deletion.principal, deletion.thread
    left = database.rows("SELECT principal, id FROM clew.exchanges WHERE principal = $1 AND thread = $2", *named)
    delete_exchanges(database, [(str(principal), str(id)) for principal, id in left])
    database.run(_USAGE, *named)
    delete_thread_rows(database, [named])
    return True


def delete_recordings(database: PostgresDatabase, places: Sequence[int]) -> list[tuple[str, str]]:
    """Delete recordings with their marks and exchanges. Returns the threads that they were in."""
    if not places:
        return []
    found = [(str(principal), str(id), str(thread)) for principal, id, thread in database.rows(_RECORDINGS, list(places))]
    delete_exchanges(database, [(principal, id) for principal, id, _ in found])
    return [(principal, thread) for principal, _, thread in found]


def delete_exchanges(database: PostgresDatabase, names: Iterable[tuple[str, str]]) -> None:
    """Delete exchanges with their words, bodies and turns in clients' dialects."""
    given = [*names]
    if not given:
        return
    chains = database.rows(_EXCHANGES, [principal for principal, _ in given], [id for _, id in given])
    delete_pieces(database, [chain for (chain,) in chains])


def delete_pieces(database: PostgresDatabase, chains: Iterable[object]) -> None:
    """Delete the pieces of these chains if no body is left that has them."""
    for chain in chains:
        database.run(_PIECES, chain, CHAIN_PIECES)


def delete_thread_rows(database: PostgresDatabase, threads: Iterable[tuple[str, str]]) -> None:
    """Delete threads, and the notes of agents about them."""
    for principal, thread in threads:
        database.run("DELETE FROM clew.threads WHERE principal = $1 AND id = $2", principal, thread)
        name = f"calls-begun:{thread}"
        database.run("DELETE FROM clew.settings WHERE scope = $1 AND name = $2", principal, name)


def discard_open(database: PostgresDatabase, principal: str, exchange: str) -> bool:
    """Delete an exchange that is open, because its turn is about to be recorded again. False if it is over."""
    named = (principal, exchange)
    find = "SELECT 1 FROM clew.exchanges WHERE principal = $1 AND id = $2 AND outcome = 'open' FOR UPDATE"
    if database.value(find, *named) is None:
        return False
    rows = database.rows("SELECT seq FROM clew.recordings WHERE principal = $1 AND id = $2", *named)
    delete_recordings(database, [int(seq) for (seq,) in rows if isinstance(seq, int)])
    database.run("DELETE FROM clew.usage WHERE principal = $1 AND exchange = $2", *named)
    delete_exchanges(database, [named])
    return True


def deletions(database: PostgresDatabase) -> Deletions:
    """How many deletions are noted, and when the last one was."""
    [row] = database.rows("SELECT count(*), coalesce(max(at), 0.0) FROM clew.forgotten")
    return msgspec.convert(row, Deletions)


def is_forgotten(database: PostgresDatabase, exchange: Exchange) -> bool:
    """Whether the exchange's thread was deleted after the exchange began."""
    find = "SELECT 1 FROM clew.forgotten WHERE hash IN ($1, $2) AND at >= $3"
    return database.value(find, *deletion_hashes(exchange), exchange.started) is not None


def prune_notes(database: PostgresDatabase, now: float) -> None:
    """Delete the notes of deletions that no answer under way can be affected by."""
    database.run("DELETE FROM clew.forgotten WHERE at < $1", now - LONGEST)


def _note_deletion(database: PostgresDatabase, deletion: Deletion) -> bool:
    """False if there is no such thread."""
    principal, thread, at, agents = deletion
    found = database.row("SELECT session, agent FROM clew.threads WHERE principal = $1 AND id = $2", principal, thread)
    if found is None:
        return False
    last = database.value(_LAST_OPEN, principal, thread)
    until = max(at, last) if isinstance(last, float) else at  # a clock that was set back spares no answer under way
    database.run(_NOTE, deletion_hash(b"thread", principal, thread), until)
    session, agent = found
    if agents and session and not agent:
        database.run(_NOTE, deletion_hash(b"session", principal, str(session)), until)
    return True
