"""The index of words: what was asked and answered, for a person who remembers a word of it.

No turn waits for the index. A turn's commit writes nothing here; a search, and the housekeeping in between, first adds what
is newer than the newest turn of the index, oldest first, in steps that no turn waits long for. So every turn up to that one
is in it, and no other: what is missing is never in doubt, not even after a crash. Adding many turns at once also costs an
index far less than one by one.

Which words a turn has, and what a person may type, `clew.store.words` says. The newest turns come first; then the threads of
which only the title has the words. Titles are few and short: they are compared one by one.

Deleting a text leaves one trace: the index remembers the first letters of the words with which its pages begin, to find
them, and keeps them when the word is gone. `sweep` replaces these by words that are still there.
"""

from __future__ import annotations

from bisect import bisect_left

import apsw

from clew.store.rows import Value
from clew.store.sqlite.database import Database
from clew.store.values import Hit
from clew.store.words import (
    MOST_TITLES,
    SNIPPET_WORDS,
    STEP_CHARACTERS,
    STEP_TURNS,
    hit_of,
    indexed_words,
    search_terms,
    titled_hits,
)

_MISSING = """
SELECT exchanges.seq, readable, asked, said FROM exchanges
LEFT JOIN recordings ON recordings.principal = exchanges.principal AND recordings.id = exchanges.recording
WHERE kind = 'messages' AND exchanges.seq > coalesce((SELECT rowid FROM words ORDER BY rowid DESC LIMIT 1), 0)
ORDER BY exchanges.seq LIMIT ?
"""
_ADD = "INSERT INTO words (rowid, asked, answered) VALUES (?, ?, ?)"
_FOUND = f"""
SELECT exchanges.thread, coalesce(title, ''), ended, exchanges.id,
    snippet(words, -1, char(2), char(3), '…', {SNIPPET_WORDS})
FROM words JOIN exchanges ON exchanges.seq = words.rowid AND +exchanges.principal = :principal
LEFT JOIN threads ON threads.principal = exchanges.principal AND threads.id = exchanges.thread
WHERE words MATCH :match ORDER BY words.rowid DESC LIMIT :limit
"""  # noqa: S608  (a constant)
_TITLES = "SELECT id, title, used FROM threads WHERE principal = ? AND title <> '' ORDER BY used DESC, id LIMIT ?"
_PAGES = "SELECT segid, term FROM words_idx WHERE length(term) > 1"
_NEXT_TERM = "SELECT CAST(term AS BLOB) FROM terms WHERE term >= CAST(? AS TEXT) LIMIT 1"
_RENAME = "UPDATE OR IGNORE words_idx SET term = ? WHERE segid = ? AND term = ?"
_DELETE_NAME = "DELETE FROM words_idx WHERE segid = ? AND term = ?"


def index_turns(connection: Database) -> int:
    """Add some of the turns that are not in the index yet. Returns how many; 0 if none is left."""
    added = characters = 0
    for seq, *columns in connection.execute(_MISSING, (STEP_TURNS,)).fetchall():
        asked, answered = indexed_words(tuple(columns))
        connection.execute(_ADD, (seq, asked, answered))
        added, characters = added + 1, characters + len(asked) + len(answered)
        if characters >= STEP_CHARACTERS:
            break
    return added


def search(connection: Database, principal: str, typed: str, limit: int) -> list[Hit]:
    terms = search_terms(typed)
    if not terms:
        return []
    match = " AND ".join(f'"{each.text}"{"*" if each.begun else ""}' for each in terms)  # nothing but quoted words
    rows = connection.execute(_FOUND, {"principal": principal, "match": match, "limit": limit})
    said = [hit_of(row) for row in rows]
    titles = connection.execute(_TITLES, (principal, MOST_TITLES))
    return (said + titled_hits(titles, terms, {hit.thread for hit in said}))[:limit]


def flush(connection: Database) -> None:
    """Have the index do the work that it put off until the next read."""
    connection.execute("INSERT INTO words (words) VALUES ('flush')")


def sweep(connection: Database) -> int:
    """Rename the pages of the index that are named after a deleted word. Returns how many.

    A page is named after a word that was there, so only those can be wrong whose name is the beginning of a deleted word.
    """
    texts = connection.execute("SELECT text FROM swept").fetchall()
    if not texts:
        return 0
    tokenizer = connection.fts5_tokenizer("unicode61", ["remove_diacritics", "2"])
    flags = apsw.FTS5_TOKENIZE_DOCUMENT
    deleted = sorted(
        {
            word.encode()
            for (text,) in texts
            for word in tokenizer(str(text).encode(), flags, None, include_offsets=False, include_colocated=False)
        }
    )
    connection.execute("DELETE FROM swept")
    flush(connection)
    renamed = 0
    for segment, name in connection.execute(_PAGES).fetchall():
        assert isinstance(name, bytes)
        at = bisect_left(deleted, name[1:])  # a name begins with the number of the index that it belongs to
        if at < len(deleted) and deleted[at].startswith(name[1:]):
            renamed += _rename_page(connection, segment, name)
    return renamed


def _rename_page(connection: Database, segment: Value, name: bytes) -> bool:
    """Whether the page needed another name.

    That may be anything above the last word of the page before and up to the page's own first word. The next word that is
    still there is: no word of the page comes before it. If it names another page already, or there is none, the page is
    empty, and needs no name.
    """
    following = connection.execute(_NEXT_TERM, (name[1:],)).get
    if isinstance(following, bytes) and following.startswith(name[1:]):
        return False
    if isinstance(following, bytes):
        connection.execute(_RENAME, (name[:1] + following, segment, name))
    if following is None or not connection.changes():
        connection.execute(_DELETE_NAME, (segment, name))
    return True
