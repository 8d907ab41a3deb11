"""The schema, as the list of steps that lead to it. A step is never edited once it was released; a change is a new step.

Each is a function that says why. `connection.migrate` runs those that a file misses.
"""

from __future__ import annotations

from collections.abc import Callable

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


def m004_index_of_words(connection: Database) -> None:
    """A full-text index over questions and answers, so that a conversation is found by its words.

    It keeps a copy of the words, though they are in exchanges and recordings too: deleting a text from an index needs
    exactly the text that was added, and a damaged recording must not keep its words in here. (An index without a copy can
    mark a text as deleted, and then its words stay.) `secure-delete` removes entries from the index's pages at once; *terms*
    shows which words are left. A trigger deletes the words, because there are many ways to delete an exchange; it puts the
    deleted text into *swept*, for the next sweep of the index.

    The first text that is deleted this way gives the index a newer format, and a reader in another connection that has seen
    the older one takes the new one for damage. So one text is added and deleted before any reader has seen the index.

    This step adds nothing else, since a store can be large: whatever is newer than the newest turn of the index is added
    later, in steps. `readable` is whether a turn was kept for people; with `content = false` it has no question."""
    connection.execute(_M004)


_M004 = """
ALTER TABLE exchanges ADD COLUMN readable INTEGER NOT NULL DEFAULT 1;
UPDATE exchanges SET readable = 0 WHERE asked = x'90';
CREATE VIRTUAL TABLE words USING fts5(asked, answered, tokenize = 'unicode61 remove_diacritics 2');
INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
INSERT INTO words (rowid, asked) VALUES (1, 'a');
INSERT INTO words (words) VALUES ('flush');
DELETE FROM words WHERE rowid = 1;
INSERT INTO words (words) VALUES ('flush');
CREATE VIRTUAL TABLE terms USING fts5vocab(words, instance);
CREATE TABLE swept (text TEXT NOT NULL) STRICT;
CREATE TRIGGER words_go_with_their_exchange AFTER DELETE ON exchanges BEGIN
    INSERT INTO swept SELECT asked || ' ' || answered FROM words WHERE rowid = OLD.seq;
    DELETE FROM words WHERE rowid = OLD.seq;
END;
"""


def m005_thinking_tokens(connection: Database) -> None:
    """Some vendors report how many of an answer's tokens were thinking. That was not kept, so a conversation that was read
    later could only have an estimate. NULL is for vendors that do not report it, and for older rows."""
    connection.execute("ALTER TABLE usage ADD COLUMN thinking INTEGER")


def m006_deleted_threads_stay_deleted(connection: Database) -> None:
    """An answer that was under way while its thread was deleted brought the thread and its text back at its end: in the same
    process if it was not stopped first, and in any other process, which did not know of the deletion. *forgotten* has what
    was deleted and when, as a hash and a time; a turn that began before that is kept without text. Its rows are deleted some
    time after the longest possible answer.

    An agent's note about a thread (that it had begun to run its tools) stands among the settings, by the thread's name, and
    stayed there forever. It is deleted with the thread now, however that is deleted."""
    connection.execute(_M006)


_M006 = """
CREATE TABLE forgotten (
    hash BLOB NOT NULL PRIMARY KEY,
    at REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TRIGGER settings_go_with_their_thread AFTER DELETE ON threads BEGIN
    DELETE FROM settings WHERE scope = OLD.principal AND name = 'calls-begun:' || OLD.id;
END;
DELETE FROM settings WHERE name LIKE 'calls-begun:%' AND NOT EXISTS (
    SELECT 1 FROM threads WHERE principal = scope AND name = 'calls-begun:' || id
);
"""


def m007_process_of_an_open_exchange(connection: Database) -> None:
    """A gateway that was killed left its exchanges open, and they looked as if they were under way forever. An open exchange
    now has the process that answers it, and readers find out whether that process still lives. Older exchanges have no
    process, since no process that runs now can have written them: it would not know this schema."""
    connection.execute("ALTER TABLE exchanges ADD COLUMN process TEXT NOT NULL DEFAULT ''")


def m008_newer_formats(connection: Database) -> None:
    """Only the number changes. Bodies are compressed part by part, and the sum of a recording is four bytes instead of a
    hash of thirty-two; both formats can be told from their bytes. But an older clew knows only the older form of each: it
    showed no bodies and took every new recording for damaged, without saying why. With another number it says that the file
    was written by a newer clew."""


def m009_compressed_changes(connection: Database) -> None:
    """The changes of an exchange are compressed where there are many, since in a long conversation they were most of what
    was kept; both forms can be told from their bytes. Existing rows stay as they are, because a store can be large. An older
    clew could not read the new ones; with another number it does not try.

    Retention now deletes a thread with its last turn. It used to search all threads for empty ones, and turns waited for
    that. What an interrupted round left behind is deleted here, since nothing looks for it any more."""
    connection.execute(_M009)


_M009 = """
DELETE FROM threads
WHERE NOT EXISTS (SELECT 1 FROM turns WHERE turns.principal = threads.principal AND turns.thread = threads.id)
"""


def m010_betas_of_a_request(connection: Database) -> None:
    """Some fields of a message are refused without a value of the `anthropic-beta` header, which the client sent and which
    was not kept. So a thread of Claude Code could not be continued by clew's own chat. Older requests have no betas here;
    what their messages need is derived from the messages (`clew.pipeline.parameters`)."""
    connection.execute("ALTER TABLE exchanges ADD COLUMN betas TEXT NOT NULL DEFAULT ''")


def m011_bodies_in_pieces(connection: Database) -> None:
    """An agent sends its history with every turn, and each exchange kept a whole copy of it. The requests of a conversation
    now are spans over *pieces*, of which only the new ones are written. The bodies that share pieces have the same `chain`,
    the place of its first piece; the pieces go with the last of these bodies. A chain is of one day. Existing rows, and
    small ones, have no chain: they are whole."""
    connection.execute(_M011)


_M011 = """
ALTER TABLE bodies ADD COLUMN chain INTEGER;
CREATE INDEX bodies_by_chain ON bodies (chain) WHERE chain IS NOT NULL;
CREATE TABLE pieces (
    seq INTEGER PRIMARY KEY,
    day INTEGER NOT NULL,
    content BLOB NOT NULL
) STRICT;
CREATE TRIGGER pieces_go_with_their_bodies AFTER DELETE ON bodies
WHEN OLD.chain IS NOT NULL AND NOT EXISTS (SELECT 1 FROM bodies WHERE chain = OLD.chain) BEGIN
    DELETE FROM pieces WHERE seq >= OLD.chain AND seq < OLD.chain + 1048576;
END;
"""


MIGRATIONS: tuple[Callable[[Database], None], ...] = (
    m001_recordings_and_exchanges,
    m002_what_a_gateway_shows,
    m003_one_row_for_an_exchange,
    m004_index_of_words,
    m005_thinking_tokens,
    m006_deleted_threads_stay_deleted,
    m007_process_of_an_open_exchange,
    m008_newer_formats,
    m009_compressed_changes,
    m010_betas_of_a_request,
    m011_bodies_in_pieces,
)
