"""The index of words: what was asked and answered, for whoever remembers a word of it.

No turn waits for it. A turn's commit writes nothing here; whoever searches, and the housekeeping in between, first adds what
is newer than the newest turn of the index, oldest first, in bites that no turn waits long for. So every turn up to that one
is in it, and no other: what is missing is never in doubt, after a crash neither. Many turns at once also cost an index far
less than one by one.

Tool inputs and results, thinking, and the reminders that clients add are not in it: nobody said them. Chinese, Japanese and
Korean are written without spaces, so each of their characters counts as a word, and a row of them is found as a phrase.

Taking a text out leaves one trace: the index remembers the first letters of the words with which its pages begin, to find
its way, and goes on using them when the word is gone. `sweep` replaces these by words that are still there.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Final

import apsw
import msgspec

from clew.store.sqlite.database import Database, Row, Value
from clew.store.sqlite.rows import texts_in, unpack
from clew.store.texts import texts_asked

__all__ = ["BITE", "catch_up", "clean", "flush", "indexed", "spaced", "sweep"]

BITE: Final = 100
"""Turns that are added in one transaction, unless their words are too many."""

BITE_CHARACTERS: Final = 200_000
MOST_CHARACTERS: Final = 200_000
"""Of one question or answer: whoever pastes a book finds it by its beginning."""

_MISSING = """
SELECT exchanges.seq, readable, asked, said FROM exchanges
LEFT JOIN recordings ON recordings.principal = exchanges.principal AND recordings.id = exchanges.recording
WHERE kind = 'messages' AND exchanges.seq > coalesce((SELECT rowid FROM words ORDER BY rowid DESC LIMIT 1), 0)
ORDER BY exchanges.seq LIMIT ?
"""
_ADD = "INSERT INTO words (rowid, asked, answered) VALUES (?, ?, ?)"

_UNSPACED = re.compile(
    r"([\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff"
    r"\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff])"
)
_BREAK = "\u200b"
_DOCUMENT: Final = apsw.FTS5_TOKENIZE_DOCUMENT


def catch_up(connection: Database) -> int:
    """Add a bite of the turns that are not in the index yet. How many; nothing is left if none."""
    added = characters = 0
    for seq, *columns in connection.execute(_MISSING, (BITE,)).fetchall():
        asked, answered = indexed(tuple(columns))
        connection.execute(_ADD, (seq, asked, answered))
        added, characters = added + 1, characters + len(asked) + len(answered)
        if characters >= BITE_CHARACTERS:
            break
    return added


def indexed(columns: Row) -> tuple[str, str]:
    """What stands in the index for a turn: of its `readable`, `asked` and `said`. Nothing of what cannot be read."""
    readable, asked, said = columns
    if not readable:
        return "", ""
    return _joined(_asked(asked)), _joined(_answered(said))


def _asked(packed: Value) -> Iterable[str]:
    assert isinstance(packed, bytes)
    try:
        return texts_asked(unpack(packed))
    except msgspec.MsgspecError:
        return ()


def _answered(said: Value) -> Iterable[str]:
    try:
        return texts_in(said) if isinstance(said, bytes) else ()
    except ValueError:
        return ()


def _joined(texts: Iterable[str]) -> str:
    return spaced("\n".join(" ".join(clean(text).split()) for text in texts)[:MOST_CHARACTERS])


def clean(text: str) -> str:
    """As SQLite takes it, and with no character that marks what was found."""
    return "".join(char if char.isprintable() else " " for char in text)


def spaced(text: str) -> str:
    """With a break that nobody sees around each character that is a word by itself."""
    return _UNSPACED.sub(f"{_BREAK}\\1{_BREAK}", text)


_PAGES = "SELECT segid, term FROM words_idx WHERE length(term) > 1"
_NEXT_TERM = "SELECT CAST(term AS BLOB) FROM terms WHERE term >= CAST(? AS TEXT) LIMIT 1"
_RENAME = "UPDATE OR IGNORE words_idx SET term = ? WHERE segid = ? AND term = ?"
_NAMELESS = "DELETE FROM words_idx WHERE segid = ? AND term = ?"


def sweep(connection: Database) -> int:
    """Let no page of the index be named after a word that is gone. How many had to get another name.

    A page is named after a word that was there, so only those can be wrong whose name is the beginning of a word that went.
    """
    texts = connection.execute("SELECT text FROM swept").fetchall()
    if not texts:
        return 0
    gone = sorted({word for (text,) in texts for word in _terms_in(connection, text)})
    connection.execute("DELETE FROM swept")
    flush(connection)
    pages = connection.execute(_PAGES).fetchall()
    return sum(_renamed(connection, segment, name) for segment, name in pages if _begins_one(name, gone))


def flush(connection: Database) -> None:
    """Have the index do what it has put off until somebody reads in it."""
    connection.execute("INSERT INTO words (words) VALUES ('flush')")


def _terms_in(connection: Database, text: Value) -> Iterable[bytes]:
    """The words of a text as the index takes them apart."""
    tokenizer = connection.fts5_tokenizer("unicode61", ["remove_diacritics", "2"])
    tokens = tokenizer(str(text).encode(), _DOCUMENT, None, include_offsets=False, include_colocated=False)
    return {token.encode() for token in tokens}


def _begins_one(name: Value, words: Sequence[bytes]) -> bool:
    """Whether one of these sorted words begins so. (A name begins with the number of the index that it belongs to.)"""
    assert isinstance(name, bytes)
    at = bisect_left(words, name[1:])
    return at < len(words) and words[at].startswith(name[1:])


def _renamed(connection: Database, segment: Value, name: Value) -> bool:
    """Whether a page had to get another name.

    That may be anything above the last word of the page before and up to the page's own first word. The next word that is
    still there is: no word of the page comes before it. If it names another page already, or there is none, the page is
    empty, and needs no name.
    """
    assert isinstance(name, bytes)
    following = connection.execute(_NEXT_TERM, (name[1:],)).get
    if isinstance(following, bytes) and following.startswith(name[1:]):
        return False
    if isinstance(following, bytes):
        connection.execute(_RENAME, (name[:1] + following, segment, name))
    if following is None or not connection.changes():
        connection.execute(_NAMELESS, (segment, name))
    return True
