"""The words of turns, and the words that a person looks for, in the same form for every index of words.

Tool inputs and results, thinking, and the reminders that clients add are left out: nobody said them. Chinese, Japanese and
Korean are written without spaces, so each of their characters counts as a word, and a row of them is found as a phrase.

A search has no syntax to get wrong. All words must be in one question and its answer, each as the beginning of a word; "in
quotes" they stand together, as they are. Case and accents do not count.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

import msgspec

from clew.store.rows import Row, texts_in, unpack
from clew.store.text import texts_asked
from clew.store.values import Hit

STEP_TURNS: Final = 100
"""Turns that are added to an index in one transaction, unless their words are too many."""
STEP_CHARACTERS: Final = 200_000
MOST_CHARACTERS: Final = 200_000
"""Of one question or answer: a pasted book is found by its beginning."""
MOST_TYPED: Final = 500
MOST_TITLES: Final = 20_000
SNIPPET_WORDS: Final = 24

START, END, BREAK = "\x02", "\x03", "\u200b"
"""Around what was found, and around each character that is a word by itself."""
_UNSPACED: Final = re.compile(
    r"([\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff"
    r"\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff])"
)
_PARTS: Final = re.compile(r'"([^"]*)"?|([^\s"]+)')
WORD: Final = re.compile(r"\w+")


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
    return joined_words(asked), joined_words(answered)


def joined_words(texts: Iterable[str]) -> str:
    return spaced("\n".join(" ".join(_clean(text).split()) for text in texts)[:MOST_CHARACTERS])


def _clean(text: str) -> str:
    """As a database takes it, and with no character that marks what was found."""
    return "".join(char if char.isprintable() else " " for char in text)


def spaced(text: str) -> str:
    """With an invisible break around each character that is a word by itself."""
    return _UNSPACED.sub(f"{BREAK}\\1{BREAK}", text)


class SearchTerm(NamedTuple):
    """A word, or several in a row. `begun`: it need only be the beginning of a word."""

    text: str
    begun: bool


def search_terms(typed: str) -> tuple[SearchTerm, ...]:
    """What a person looks for. Empty if there is no letter and no digit in it."""
    parts = [(phrase or word, not phrase) for phrase, word in _PARTS.findall(_clean(typed[:MOST_TYPED]))]
    return tuple(SearchTerm(spaced(text), begun) for text, begun in parts if any(map(str.isalnum, text)))


def titled_hits(titles: Iterable[Row], terms: Sequence[SearchTerm], known: set[str]) -> list[Hit]:
    """The threads whose title has all these words, of rows of id, title and time, without those that are known."""
    found: list[Hit] = []
    for thread, title, used in titles:
        assert isinstance(used, float)
        words = folded_words(str(title)) + " "
        has_all = all(folded_words(each.text) + ("" if each.begun else " ") in words for each in terms)
        if has_all and thread not in known:
            found.append(Hit(thread=str(thread), title=str(title), at=used))
    return found


def hit_of(row: Row) -> Hit:
    """A turn of which the last column is a snippet in which the found words are marked."""
    thread, title, at, exchange, marked = row
    assert isinstance(at, float)
    snippet, marks = "", list[tuple[int, int]]()
    for piece in str(marked).replace(BREAK, "").replace("\n", " ").split(START):
        found, end, rest = piece.partition(END)
        if end:
            marks.append((len(snippet), len(snippet) + len(found)))
        snippet += found + rest
    return Hit(thread=str(thread), title=str(title), at=at, exchange=str(exchange), snippet=snippet, marks=tuple(marks))


def folded_words(text: str) -> str:
    """The words of a text, a space before each, without case and accents."""
    if not text.isascii():  # which has no accents, and a search folds thousands of titles
        plain = "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))
        text = unicodedata.normalize("NFC", plain)
    whole = text.casefold().replace("_", " ")
    return "".join(f" {word}" for word in WORD.findall(spaced(whole)))
