"""Searching: what people type, as a query that cannot be wrong, and what was found, with the words around it.

All words must be in one question and its answer, each as the beginning of a word; "in quotes" they stand together, as they
are. Nothing else that is typed has a meaning: there is no syntax to get wrong. Case and accents do not count. The newest
come first; then the threads of which only the title has the words. Titles are few and short: they are looked through one by
one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final, NamedTuple

from clew.store.sqlite.database import Database, Row
from clew.store.sqlite.words import clean, spaced
from clew.store.values import Hit

__all__ = ["Wanted", "search", "wanted"]

MOST_TYPED: Final = 500
MOST_TITLES: Final = 20_000

_AROUND: Final = 24
"""Words of a snippet."""

_START, _END, _BREAK = "\x02", "\x03", "\u200b"

_FOUND = f"""
SELECT exchanges.thread, coalesce(title, ''), ended, exchanges.id,
    snippet(words, -1, char(2), char(3), '…', {_AROUND})
FROM words JOIN exchanges ON exchanges.seq = words.rowid AND +exchanges.principal = :principal
LEFT JOIN threads ON threads.principal = exchanges.principal AND threads.id = exchanges.thread
WHERE words MATCH :match ORDER BY words.rowid DESC LIMIT :limit
"""  # noqa: S608  (a constant)
_TITLES = "SELECT id, title, used FROM threads WHERE principal = ? AND title <> '' ORDER BY used DESC, id LIMIT ?"

_PARTS = re.compile(r'"([^"]*)"?|([^\s"]+)')
_WORD = re.compile(r"\w+")


class Wanted(NamedTuple):
    """A word, or several in a row. One that is `begun` may go on."""

    text: str
    begun: bool


def wanted(typed: str) -> tuple[Wanted, ...]:
    """What somebody looks for. Empty if there is no letter and no digit in it."""
    parts = [(phrase or word, not phrase) for phrase, word in _PARTS.findall(clean(typed[:MOST_TYPED]))]
    return tuple(Wanted(spaced(text), begun) for text, begun in parts if any(map(str.isalnum, text)))


def search(connection: Database, principal: str, typed: str, limit: int) -> list[Hit]:
    parts = wanted(typed)
    if not parts:
        return []
    bindings = {"principal": principal, "match": _match(parts), "limit": limit}
    said = [_hit(row) for row in connection.execute(_FOUND, bindings)]
    known = {hit.thread for hit in said}
    titled = [hit for hit in _titled(connection, principal, parts) if hit.thread not in known]
    return (said + titled)[:limit]


def _match(parts: tuple[Wanted, ...]) -> str:
    """In the words of FTS5: nothing but quoted words goes in."""
    return " AND ".join(f'"{each.text}"{"*" if each.begun else ""}' for each in parts)


def _hit(row: Row) -> Hit:
    thread, title, at, exchange, marked = row
    assert isinstance(at, float)
    snippet, marks = _unmarked(str(marked).replace(_BREAK, "").replace("\n", " "))
    return Hit(thread=str(thread), title=str(title), at=at, exchange=str(exchange), snippet=snippet, marks=marks)


def _unmarked(marked: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The text without the marks, and where they were."""
    text, marks = "", list[tuple[int, int]]()
    for piece in marked.split(_START):
        found, end, rest = piece.partition(_END)
        if end:
            marks.append((len(text), len(text) + len(found)))
        text += found + rest
    return text, tuple(marks)


def _titled(connection: Database, principal: str, parts: tuple[Wanted, ...]) -> Iterator[Hit]:
    for thread, title, used in connection.execute(_TITLES, (principal, MOST_TITLES)):
        assert isinstance(used, float)
        if _has_all(_folded(str(title)) + " ", parts):
            yield Hit(thread=str(thread), title=str(title), at=used)


def _has_all(words: str, parts: tuple[Wanted, ...]) -> bool:
    return all(_folded(each.text) + ("" if each.begun else " ") in words for each in parts)


def _folded(text: str) -> str:
    """The words of a text, a space before each, without case and accents."""
    plain = "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))
    whole = unicodedata.normalize("NFC", plain).casefold().replace("_", " ")
    return "".join(f" {word}" for word in _WORD.findall(spaced(whole)))
