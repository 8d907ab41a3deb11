"""The schema, as the list of steps that lead to it. A step is never edited once it was released; a change is a new step.

Each is a function that says why. `connection.migrate` runs those that a file misses.
"""

from __future__ import annotations

from collections.abc import Callable

from clew.store.sqlite.database import Database
from clew.store.sqlite.first_migrations import (
    m001_recordings_and_exchanges,
    m002_what_a_gateway_shows,
    m003_one_row_for_an_exchange,
)


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


def m012_turns_in_the_clients_dialect(connection: Database) -> None:
    """Clients of the Responses API name an answer by its id, and send nothing else of their history. *natives* has a turn as
    such a client said and got it: what was new in its input, and the answer. The turn that it followed has what came before,
    and so on. Each goes with its exchange. One that was deleted by its id is `hidden`: others may follow it."""
    connection.execute(_M012)


_M012 = """
CREATE TABLE natives (
    seq INTEGER PRIMARY KEY,
    principal TEXT NOT NULL,
    exchange TEXT NOT NULL,
    follows TEXT,
    hidden INTEGER NOT NULL DEFAULT 0,
    digest BLOB NOT NULL,
    items BLOB NOT NULL,
    answer BLOB NOT NULL,
    UNIQUE (principal, exchange)
) STRICT;
CREATE TRIGGER natives_go_with_their_exchange AFTER DELETE ON exchanges BEGIN
    DELETE FROM natives WHERE principal = OLD.principal AND exchange = OLD.id;
END;
"""


def m013_keys_and_limits(connection: Database) -> None:
    """Keys for others were in a private file of one machine, without an end and without a limit. *keys* has them (hashes
    alone), *limits* how much each holder, principal or team may use, *spent* what was used in each window by each process,
    *reservations* what hard limits set aside for requests under way, *audit* who changed what. Usage gets the key, the
    thread and the sub-agent of each call, and its price where a limit on money holds, so that sums can be made again."""
    connection.execute(_M013)


_M013 = """
ALTER TABLE usage ADD COLUMN micro_usd INTEGER;
ALTER TABLE usage ADD COLUMN key_name TEXT NOT NULL DEFAULT '';
ALTER TABLE usage ADD COLUMN thread_id TEXT NOT NULL DEFAULT '';
ALTER TABLE usage ADD COLUMN agent_id TEXT NOT NULL DEFAULT '';
CREATE TABLE keys (
    kid TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    hash TEXT NOT NULL,
    principal TEXT NOT NULL,
    team TEXT NOT NULL,
    rights TEXT NOT NULL,
    made REAL NOT NULL,
    made_by TEXT NOT NULL,
    expires REAL,
    replaced_by TEXT NOT NULL,
    last_used REAL
) STRICT, WITHOUT ROWID;
CREATE TABLE limits (
    scope TEXT NOT NULL,
    unit TEXT NOT NULL,
    seconds INTEGER NOT NULL,
    cap INTEGER NOT NULL,
    hard INTEGER NOT NULL,
    made REAL NOT NULL,
    made_by TEXT NOT NULL,
    PRIMARY KEY (scope, unit, seconds)
) STRICT, WITHOUT ROWID;
CREATE TABLE spent (
    scope TEXT NOT NULL,
    seconds INTEGER NOT NULL,
    start INTEGER NOT NULL,
    shard TEXT NOT NULL,
    micro_usd INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    PRIMARY KEY (scope, seconds, start, shard)
) STRICT, WITHOUT ROWID;
CREATE TABLE reservations (
    exchange TEXT NOT NULL,
    scope TEXT NOT NULL,
    seconds INTEGER NOT NULL,
    start INTEGER NOT NULL,
    process TEXT NOT NULL,
    micro_usd INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    PRIMARY KEY (exchange, scope, seconds)
) STRICT, WITHOUT ROWID;
CREATE INDEX reservations_by_scope ON reservations (scope);
CREATE TABLE audit (
    seq INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    who TEXT NOT NULL,
    what TEXT NOT NULL,
    target TEXT NOT NULL,
    before TEXT NOT NULL,
    after TEXT NOT NULL
) STRICT;
"""


def m014_dialect_of_a_client(connection: Database) -> None:
    """Clients of several dialects share a gateway, and nothing said afterwards in which of them a request came. Of older
    exchanges it is not known; nearly all of them came from clients of the Messages API."""
    connection.execute("ALTER TABLE exchanges ADD COLUMN dialect TEXT NOT NULL DEFAULT 'anthropic'")


def m015_team_of_usage(connection: Database) -> None:
    """Usage knew the key of each call, and the team only as long as that key was there. So a team's sums changed when a key
    was removed, or moved to another team."""
    connection.execute("ALTER TABLE usage ADD COLUMN team_name TEXT NOT NULL DEFAULT ''")


def m016_program_of_a_client(connection: Database) -> None:
    """An exchange said which API its client speaks, and many programs speak the same one. Usage gets the program too: it is
    kept for longer than exchanges are. Of older exchanges it is not known."""
    connection.execute("ALTER TABLE exchanges ADD COLUMN client TEXT NOT NULL DEFAULT ''")
    connection.execute("ALTER TABLE usage ADD COLUMN client_name TEXT NOT NULL DEFAULT ''")


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
    m012_turns_in_the_clients_dialect,
    m013_keys_and_limits,
    m014_dialect_of_a_client,
    m015_team_of_usage,
    m016_program_of_a_client,
)
