"""The first steps of the schema; `migrations` goes on from there. They are never edited."""

from __future__ import annotations

from clew.store.sqlite.database import Database


def m001_recordings_and_exchanges(connection: Database) -> None:
    """The beginning.

    *recordings* are the truth; small columns stand first, so that following links reads no blocks. `sum` is over all of a
    recording, for `verify`. *marks* are the three ways to find one, in one table without a rowid: a look-up is one descent.
    Their `seen` is when a client last sent the block. No row of it can be found without the principal.

    *turns* are what a person reads, *exchanges* what happened, *usage* what it cost; they are apart because they are kept
    for different times: text goes first, counts stay longest. *strangers* are thinking blocks that came in requests and were
    never recorded. Links between recordings are ids and not foreign keys, since a lost recording is no error (it ends a
    strand)."""
    connection.execute(_M001)


_M001 = """
CREATE TABLE recordings (
    seq INTEGER PRIMARY KEY,
    principal TEXT NOT NULL,
    id TEXT NOT NULL,
    thread TEXT NOT NULL,
    after TEXT,
    followed TEXT,
    created REAL NOT NULL,
    used REAL NOT NULL,
    realm TEXT NOT NULL,
    backend TEXT NOT NULL,
    model TEXT NOT NULL,
    account TEXT NOT NULL,
    session TEXT NOT NULL,
    agent TEXT NOT NULL,
    whole INTEGER NOT NULL,
    place BLOB NOT NULL,
    digest BLOB NOT NULL,
    sum BLOB NOT NULL,
    keys BLOB NOT NULL,
    listed BLOB,
    said BLOB NOT NULL,
    blocks BLOB NOT NULL,
    UNIQUE (principal, id)
) STRICT;
CREATE INDEX recordings_by_thread ON recordings (principal, thread);
CREATE INDEX recordings_by_use ON recordings (used);

CREATE TABLE marks (
    principal TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('key', 'tool', 'place')),
    hash BLOB NOT NULL,
    recording INTEGER NOT NULL,
    seen REAL,
    PRIMARY KEY (principal, kind, hash, recording)
) STRICT, WITHOUT ROWID;

CREATE TABLE strangers (
    principal TEXT NOT NULL,
    key BLOB NOT NULL,
    seen REAL NOT NULL,
    PRIMARY KEY (principal, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE threads (
    principal TEXT NOT NULL,
    id TEXT NOT NULL,
    session TEXT NOT NULL,
    agent TEXT NOT NULL,
    title TEXT NOT NULL,
    pin TEXT NOT NULL DEFAULT '',
    created REAL NOT NULL,
    used REAL NOT NULL,
    PRIMARY KEY (principal, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX threads_by_headers ON threads (principal, session, agent) WHERE session <> '';

CREATE TABLE turns (
    seq INTEGER PRIMARY KEY,
    principal TEXT NOT NULL,
    thread TEXT NOT NULL,
    exchange TEXT NOT NULL,
    recording TEXT,
    at REAL NOT NULL,
    asked BLOB NOT NULL
) STRICT;
CREATE INDEX turns_by_thread ON turns (principal, thread);

CREATE TABLE exchanges (
    seq INTEGER PRIMARY KEY,
    principal TEXT NOT NULL,
    id TEXT NOT NULL,
    thread TEXT NOT NULL,
    started REAL NOT NULL,
    ended REAL NOT NULL,
    asked_model TEXT NOT NULL,
    backend TEXT NOT NULL,
    model TEXT NOT NULL,
    session TEXT NOT NULL,
    agent TEXT NOT NULL,
    outcome TEXT NOT NULL,
    status INTEGER NOT NULL,
    first_byte REAL,
    attempts INTEGER NOT NULL,
    changes BLOB NOT NULL,
    UNIQUE (principal, id)
) STRICT;
CREATE INDEX exchanges_by_thread ON exchanges (principal, thread);

CREATE TABLE usage (
    principal TEXT NOT NULL,
    exchange TEXT NOT NULL,
    at REAL NOT NULL,
    backend TEXT NOT NULL,
    model TEXT NOT NULL,
    input INTEGER NOT NULL,
    output INTEGER NOT NULL,
    cache_read INTEGER NOT NULL,
    cache_written INTEGER NOT NULL,
    estimated INTEGER NOT NULL,
    PRIMARY KEY (principal, exchange)
) STRICT, WITHOUT ROWID;

CREATE TABLE settings (
    scope TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    changed REAL NOT NULL,
    PRIMARY KEY (scope, name)
) STRICT, WITHOUT ROWID;
"""


def m002_what_a_gateway_shows(connection: Database) -> None:
    """What the first gateway shows of an exchange, the bytes of the last ones, and counts that cost little.

    An exchange knew how often a backend was called, but not which, and how each call ended: *tries* has it, as JSON, since
    nobody searches in it. The other columns are what a log line shows.

    *bodies* are whole requests and answers, compressed, each deleted with its exchange (by a trigger: there are five ways to
    delete an exchange). They are apart from the exchanges because they are a thousand times larger, are written later and
    deleted earlier. Counts of tokens are exchanges without a turn, and a turn may have no answer; the partial indexes let
    retention find the old ones of both without reading through all.

    The marks of blocks now say which backend made the block, and when. The statistics looked that up in the recordings,
    whose rows are large: four seconds for a hundred thousand blocks, where reading the marks takes hundredths."""
    connection.execute(_M002)


_M002 = """
ALTER TABLE exchanges ADD COLUMN kind TEXT NOT NULL DEFAULT 'messages';
ALTER TABLE exchanges ADD COLUMN streamed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE exchanges ADD COLUMN stop_reason TEXT NOT NULL DEFAULT '';
ALTER TABLE exchanges ADD COLUMN request_id TEXT NOT NULL DEFAULT '';
ALTER TABLE exchanges ADD COLUMN heals INTEGER NOT NULL DEFAULT 0;
ALTER TABLE exchanges ADD COLUMN kept INTEGER NOT NULL DEFAULT 0;
ALTER TABLE exchanges ADD COLUMN tries BLOB NOT NULL DEFAULT (CAST('[]' AS BLOB));
ALTER TABLE marks ADD COLUMN backend TEXT;
ALTER TABLE marks ADD COLUMN made REAL;
UPDATE marks SET (backend, made) = (SELECT backend, created FROM recordings WHERE seq = marks.recording) WHERE kind = 'key';
CREATE INDEX turns_without_answer ON turns (at) WHERE recording IS NULL;
CREATE INDEX exchanges_of_counts ON exchanges (ended) WHERE kind <> 'messages';

CREATE TABLE bodies (
    seq INTEGER PRIMARY KEY,
    principal TEXT NOT NULL,
    exchange TEXT NOT NULL,
    at REAL NOT NULL,
    kept BLOB NOT NULL,
    UNIQUE (principal, exchange)
) STRICT;
CREATE INDEX bodies_by_principal ON bodies (principal);
CREATE TRIGGER bodies_go_with_their_exchange AFTER DELETE ON exchanges BEGIN
    DELETE FROM bodies WHERE principal = OLD.principal AND exchange = OLD.id;
END;
"""


def m003_one_row_for_an_exchange(connection: Database) -> None:
    """A turn is no row of its own any more: its question, and the id of its recording, are columns of its exchange.

    The two were written, found and deleted together. Every table and every index is one page more in each commit, and the
    end of an answer waits for the commit: of some twenty pages for a turn, three were these and the index of recordings by
    thread, which the exchanges know too. For reading, *turns* is still there, as a view."""
    connection.execute(_M003)


_M003 = """
ALTER TABLE exchanges ADD COLUMN recording TEXT;
ALTER TABLE exchanges ADD COLUMN asked BLOB NOT NULL DEFAULT x'90';
UPDATE exchanges SET recording = turns.recording, asked = turns.asked
FROM turns WHERE turns.principal = exchanges.principal AND turns.exchange = exchanges.id;
DROP TABLE turns;
DROP INDEX recordings_by_thread;
CREATE INDEX exchanges_without_answer ON exchanges (ended) WHERE kind = 'messages' AND recording IS NULL;
CREATE VIEW turns AS
    SELECT seq, principal, thread, id AS exchange, recording, ended AS at, asked FROM exchanges WHERE kind = 'messages';
"""
