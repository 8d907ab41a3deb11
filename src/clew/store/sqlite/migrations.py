"""The schema, as the list of steps that lead to it. A step is never edited once it was released; a change is a new step.

Each is a function with the paragraph of why. `clew.store.sqlite.schema` runs those that a file misses.
"""

from __future__ import annotations

from collections.abc import Callable

from clew.store.sqlite.database import Database

__all__ = ["MIGRATIONS"]


def m001_recordings_and_what_befell(connection: Database) -> None:
    """The beginning.

    *recordings* are the truth; small columns stand first, so that following links reads no blocks. `sum` is over all of a
    recording, for `verify`. *marks* are the three ways to find one, in one table without a rowid: a look-up is one descent.
    Their `seen` is when a client last sent the block. No row of it can be found without the principal.

    *turns* are what a person reads, *exchanges* what happened, *usage* what it cost; they are apart because they live for
    different times: words go first, counts stay longest. *strangers* are thinking blocks that came in requests and that
    nobody recorded. Links between recordings are ids and not foreign keys, since a lost recording is no error (it ends a
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
    """What the first gateway wants to show of an exchange, the bytes of the last ones, and counts that cost little.

    An exchange knew how often a backend was called, but not which, and how each call ended: *tries* says it, as JSON, since
    nobody searches in it. The other columns are what a log line shows.

    *bodies* are whole requests and answers, compressed, each with its exchange and gone with it (the trigger: there are five
    ways for an exchange to go). They are apart from the exchanges because they are a thousand times larger, come later than
    these, and go earlier. Counts of tokens are exchanges without a turn, and a turn may have no answer; the partial indexes
    let retention find the old ones of both without reading through all.

    The marks of blocks get to know which backend made the block, and when. The statistics looked that up in the recordings,
    whose rows are large: four seconds for a hundred thousand blocks, where a walk through the marks takes hundredths."""
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


def m003_one_row_for_what_happened(connection: Database) -> None:
    """A turn is no row of its own any more: what was asked, and which recording answered it, stand in its exchange.

    The two were written together, found together and deleted together. Every table and every index is one page more in each
    commit, and the commit is what the end of an answer waits for: of some twenty pages for a turn, three were these and the
    index of recordings by thread, which the exchanges know too. For whoever reads, *turns* is still there, as a view."""
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


def m004_words_can_be_found(connection: Database) -> None:
    """A full-text index over what was asked and answered, so that a conversation is found by its words.

    It keeps a copy of the words, though they stand in exchanges and recordings too: to take a text out of an index one must
    have exactly the text that went in, and a recording that is damaged must not keep its words in here. (An index without a
    copy can mark a text as deleted, and then its words stay.) `secure-delete` takes entries out of the index's pages at
    once; *terms* shows which words are left. The trigger, because there are many ways for an exchange to go; it puts what
    goes into *swept*, from where the next sweep of the index takes it.

    The first text that goes out this way makes the index one of a newer format, and a reader in another connection that has
    seen the older one takes the new for damage. So one goes in and out again before anybody has seen it.

    Nothing else is put in by this step, since a store can be large: whatever is newer than the newest turn of the index is
    added later, in bites. `readable` is whether a turn was kept for people; one of `content = false` has no question."""
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


def m005_how_much_was_thought(connection: Database) -> None:
    """Some vendors report how much of an answer's tokens were spent on thinking. That was kept nowhere, so whoever reads a
    conversation later could only estimate it. NULL is for all who do not report it, and for what was used before."""
    connection.execute("ALTER TABLE usage ADD COLUMN thinking INTEGER")


def m006_what_was_deleted_stays_deleted(connection: Database) -> None:
    """An answer that was under way while its thread was deleted brought the thread back at its end, words and all: in the
    same process if nobody stopped it first, and in any other, which knew of no deletion. *forgotten* says what was deleted
    and when, as a hash and a time; whatever began before that is kept without words. No row of it outlives the longest
    answer by much.

    What an agent noted about a thread (that it had begun to run its tools) stands among the settings, by the thread's name,
    and stayed there for ever. It goes with the thread now, whichever way that goes."""
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


def m007_who_hears_an_open_answer(connection: Database) -> None:
    """A gateway that was killed left its exchanges open, and everybody who looked took them for under way, for ever. An open
    one says now which process hears it, and whoever reads it finds out whether that is still there. Those from before have
    no process, since none that runs now can have kept them: it would not know this schema."""
    connection.execute("ALTER TABLE exchanges ADD COLUMN process TEXT NOT NULL DEFAULT ''")


def m008_what_older_ones_cannot_read(connection: Database) -> None:
    """Nothing is changed here but the number. Bodies are compressed part by part since a while, and the sum of a recording
    is four bytes where it was a hash of thirty-two; both say of themselves which they are. But a clew from before knows
    only the older form of each: it showed no bodies and took every new recording for damaged, without saying why. With
    another number it says that the file is a newer one's."""


def m009_changes_that_are_many(connection: Database) -> None:
    """The Changes of an exchange are compressed where there are many, since in a long conversation they were most of what
    was kept; a row says of itself which it is. Those that are there stay as they are, for a store can be large, and they go
    with time. A clew from before could not read the new ones; with another number it does not try.

    Retention lets a thread go with its last turn now. It went through all threads for those that were empty, for which turns
    waited. What a round of it left behind that was broken off goes here, since nobody looks for it any more."""
    connection.execute(_M009)


_M009 = """
DELETE FROM threads
WHERE NOT EXISTS (SELECT 1 FROM turns WHERE turns.principal = threads.principal AND turns.thread = threads.id)
"""


def m010_betas_of_a_request(connection: Database) -> None:
    """Some fields of a message are refused without a value of the `anthropic-beta` header, which the client sent and nobody
    kept. So a thread of Claude Code could not be continued by clew's own chat. Requests from before this have no betas here;
    what their messages need is derived from the messages (`clew.pipeline.betas`)."""
    connection.execute("ALTER TABLE exchanges ADD COLUMN betas TEXT NOT NULL DEFAULT ''")


MIGRATIONS: tuple[Callable[[Database], None], ...] = (
    m001_recordings_and_what_befell,
    m002_what_a_gateway_shows,
    m003_one_row_for_what_happened,
    m004_words_can_be_found,
    m005_how_much_was_thought,
    m006_what_was_deleted_stays_deleted,
    m007_who_hears_an_open_answer,
    m008_what_older_ones_cannot_read,
    m009_changes_that_are_many,
    m010_betas_of_a_request,
)
