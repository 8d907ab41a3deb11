"""The index of words: what was asked and answered, for a person who remembers a word of it.

No turn waits for the index. A turn's commit writes nothing here; a search, and the housekeeping in between, first adds what
is newer than the newest turn of the index, oldest first, in steps that no turn waits long for. So every turn up to that one
is in it, and no other: what is missing is never in doubt, not even after a crash. Adding many turns at once also costs an
index far less than one by one.

Tool inputs and results, thinking, and the reminders that clients add are not in it: nobody said them. Chinese, Japanese and
Korean are written without spaces, so each of their characters counts as a word, and a row of them is found as a phrase.

A search has no syntax to get wrong. All words must be in one question and its answer, each as the beginning of a word; "in
quotes" they stand together, as they are. Case and accents do not count. The newest turns come first; then the threads of
which only the title has the words. Titles are few and short: they are compared one by one.

Deleting a text leaves one trace: the index remembers the first letters of the words with which its pages begin, to find
them, and keeps them when the word is gone. `sweep` replaces these by words that are still there.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable
from contextlib import suppress
from typing import Final, NamedTuple

import apsw
import msgspec

from clew.store.sqlite.database import Database, Row, Value
from clew.store.sqlite.rows import texts_in, unpack
from clew.store.text import texts_asked
from clew.store.values import Hit

STEP_TURNS: Final = 100
"""Turns that are added in one transaction, unless their words are too many."""
STEP_CHARACTERS: Final = 200_000
MOST_CHARACTERS: Final = 200_000
"""Of one question or answer: a pasted book is found by its beginning."""
MOST_TYPED: Final = 500
MOST_TITLES: Final = 20_000
_SNIPPET_WORDS: Final = 24

_MISSING = """
SELECT exchanges.seq, readable, asked, said FROM exchanges
LEFT JOIN recordings ON recordings.principal = exchanges.principal AND recordings.id = exchanges.recording
WHERE kind = 'messages' AND exchanges.seq > coalesce((SELECT rowid FROM words ORDER BY rowid DESC LIMIT 1), 0)
ORDER BY exchanges.seq LIMIT ?
"""
_ADD = "INSERT INTO words (rowid, asked, answered) VALUES (?, ?, ?)"
_FOUND = f"""
SELECT exchanges.thread, coalesce(title, ''), ended, exchanges.id,
    snippet(words, -1, char(2), char(3), '…', {_SNIPPET_WORDS})
FROM words JOIN exchanges ON exchanges.seq = words.rowid AND +exchanges.principal = :principal
LEFT JOIN threads ON threads.principal = exchanges.principal AND threads.id = exchanges.thread
WHERE words MATCH :match ORDER BY words.rowid DESC LIMIT :limit
"""  # noqa: S608  (a constant)
_TITLES = "SELECT id, title, used FROM threads WHERE principal = ? AND title <> '' ORDER BY used DESC, id LIMIT ?"
_PAGES = "SELECT segid, term FROM words_idx WHERE length(term) > 1"
_NEXT_TERM = "SELECT CAST(term AS BLOB) FROM terms WHERE term >= CAST(? AS TEXT) LIMIT 1"
_RENAME = "UPDATE OR IGNORE words_idx SET term = ? WHERE segid = ? AND term = ?"
_DELETE_NAME = "DELETE FROM words_idx WHERE segid = ? AND term = ?"

_START, _END, _BREAK = "\x02", "\x03", "\u200b"
_UNSPACED = re.compile(
    r"([\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff"
    r"\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff])"
)
_PARTS = re.compile(r'"([^"]*)"?|([^\s"]+)')
_WORD = re.compile(r"\w+")


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


def indexed_words(columns: Row) -> tuple[str, str]:
    """The words of a turn for the index, from its `readable`, `asked` and `said`. Unreadable columns have none."""
    readable, packed, said = columns
    assert isinstance(packed, bytes)
    asked, answered = tuple[str, ...](), tuple[str, ...]()
    if readable:
        with suppress(msgspec.MsgspecError):
            asked = texts_asked(unpack(packed))
        with suppress(ValueError):
            answered = texts_in(said) if isinstance(said, bytes) else ()
    return _joined(asked), _joined(answered)


def _joined(texts: Iterable[str]) -> str:
    return _spaced("\n".join(" ".join(_clean(text).split()) for text in texts)[:MOST_CHARACTERS])


def _clean(text: str) -> str:
    """As SQLite takes it, and with no character that marks what was found."""
    return "".join(char if char.isprintable() else " " for char in text)


def _spaced(text: str) -> str:
    """With an invisible break around each character that is a word by itself."""
    return _UNSPACED.sub(f"{_BREAK}\\1{_BREAK}", text)


class SearchTerm(NamedTuple):
    """A word, or several in a row. `begun`: it need only be the beginning of a word."""

    text: str
    begun: bool


def search_terms(typed: str) -> tuple[SearchTerm, ...]:
    """What a person looks for. Empty if there is no letter and no digit in it."""
    parts = [(phrase or word, not phrase) for phrase, word in _PARTS.findall(_clean(typed[:MOST_TYPED]))]
    return tuple(SearchTerm(_spaced(text), begun) for text, begun in parts if any(map(str.isalnum, text)))


def search(connection: Database, principal: str, typed: str, limit: int) -> list[Hit]:
    terms = search_terms(typed)
    if not terms:
        return []
    match = " AND ".join(f'"{each.text}"{"*" if each.begun else ""}' for each in terms)  # nothing but quoted words
    rows = connection.execute(_FOUND, {"principal": principal, "match": match, "limit": limit})
    said = [_hit(row) for row in rows]
    known = {hit.thread for hit in said}
    titled: list[Hit] = []
    for thread, title, used in connection.execute(_TITLES, (principal, MOST_TITLES)):
        assert isinstance(used, float)
        words = _folded(str(title)) + " "
        has_all = all(_folded(each.text) + ("" if each.begun else " ") in words for each in terms)
        if has_all and thread not in known:
            titled.append(Hit(thread=str(thread), title=str(title), at=used))
    return (said + titled)[:limit]


def _hit(row: Row) -> Hit:
    thread, title, at, exchange, marked = row
    assert isinstance(at, float)
    snippet, marks = "", list[tuple[int, int]]()
    for piece in str(marked).replace(_BREAK, "").replace("\n", " ").split(_START):
        found, end, rest = piece.partition(_END)
        if end:
            marks.append((len(snippet), len(snippet) + len(found)))
        snippet += found + rest
    return Hit(thread=str(thread), title=str(title), at=at, exchange=str(exchange), snippet=snippet, marks=tuple(marks))


def _folded(text: str) -> str:
    """The words of a text, a space before each, without case and accents."""
    plain = "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))
    whole = unicodedata.normalize("NFC", plain).casefold().replace("_", " ")
    return "".join(f" {word}" for word in _WORD.findall(_spaced(whole)))


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
