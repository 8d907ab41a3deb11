"""The index of words, as a `tsvector` of words that clew has folded itself: no dictionary, no extension, no locale matters.

No turn waits for the index: a search, and the housekeeping in between, first adds the turns that are not in it. A turn has a
flag for that, since the numbers of turns become visible out of order when several gateways write. The question's words come
before the answer's, with a gap between, so that no phrase goes from one into the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from clew.store.postgres.database import PostgresDatabase
from clew.store.snippets import snippet_of
from clew.store.values import Hit
from clew.store.words import (
    MOST_TITLES,
    STEP_CHARACTERS,
    STEP_TURNS,
    SearchTerm,
    folded_words,
    hit_of,
    indexed_words,
    search_terms,
    titled_hits,
)

_GAP: Final = 10
_LAST_PLACE: Final = 16_383
"""PostgreSQL knows no place in a text behind this one, and not more than 256 of one word."""
_MOST_PLACES: Final = 255
_LONGEST_WORD: Final = 500
"""Characters of a word that is indexed: nobody types a longer one, and 2 KB are the limit."""

_MISSING: Final = """
SELECT exchanges.seq, exchanges.principal, readable, asked, said FROM clew.exchanges
LEFT JOIN clew.recordings ON recordings.principal = exchanges.principal AND recordings.id = exchanges.recording
WHERE kind = 'messages' AND NOT indexed ORDER BY exchanges.seq LIMIT $1 FOR UPDATE OF exchanges SKIP LOCKED
"""
_ADD: Final = """
INSERT INTO clew.words (seq, principal, asked, answered, found) VALUES ($1, $2, $3, $4, $5::tsvector)
ON CONFLICT (seq) DO NOTHING
"""
_RECENT: Final = 10_000
"""Turns that are looked through for words that are everywhere."""
_HITS: Final = """
SELECT exchanges.thread, coalesce(title, ''), ended, exchanges.id, words.asked, words.answered
FROM found JOIN clew.words ON words.seq = found.seq JOIN clew.exchanges ON exchanges.seq = found.seq
LEFT JOIN clew.threads ON threads.principal = exchanges.principal AND threads.id = exchanges.thread
ORDER BY found.seq DESC
"""
_FOUND_RECENTLY: Final = f"""
WITH found AS (
    SELECT seq FROM clew.words WHERE principal = $1 AND found @@ $2::tsquery
        AND seq > (SELECT coalesce(max(seq), 0) - {_RECENT} FROM clew.words) ORDER BY seq DESC LIMIT $3
) {_HITS}
"""  # noqa: S608  (constants)
_FOUND: Final = f"""
WITH every AS MATERIALIZED (SELECT seq FROM clew.words WHERE principal = $1 AND found @@ $2::tsquery),
    found AS (SELECT seq FROM every ORDER BY seq DESC LIMIT $3)
{_HITS}
"""  # noqa: S608  (constants)
"""Without an order where it is looked up: the server guesses how often the beginning of a word occurs, and would read all
turns from the newest on instead of the index of words."""
_TITLES: Final = """
SELECT id, title, used FROM clew.threads WHERE principal = $1 AND title <> '' ORDER BY used DESC, id LIMIT $2
"""


def index_turns(database: PostgresDatabase) -> int:
    """Add some of the turns that are not in the index yet. Returns how many; 0 if none is left."""
    done, characters = list[int](), 0
    for seq, principal, *columns in database.rows(_MISSING, STEP_TURNS):
        asked, answered = indexed_words(tuple(columns))
        database.run(_ADD, seq, principal, asked, answered, text_vector(asked, answered))
        assert isinstance(seq, int)
        done.append(seq)
        characters += len(asked) + len(answered)
        if characters >= STEP_CHARACTERS:
            break
    if done:
        database.run("UPDATE clew.exchanges SET indexed = true WHERE seq = ANY ($1::bigint[])", done)
    return len(done)


def search(database: PostgresDatabase, principal: str, typed: str, limit: int) -> list[Hit]:
    terms = search_terms(typed)
    query = text_query(terms)
    if not query:
        return []
    said: list[Hit] = []
    rows = database.rows(_FOUND_RECENTLY, principal, query, limit)
    if len(rows) < limit:
        rows = database.rows(_FOUND, principal, query, limit)
    for *columns, asked, answered in rows:
        said.append(hit_of((*columns, snippet_of((str(asked), str(answered)), terms))))
    titles = database.rows(_TITLES, principal, MOST_TITLES)
    return (said + titled_hits(titles, terms, {hit.thread for hit in said}))[:limit]


def text_vector(asked: str, answered: str) -> str:
    """The words of a turn with their places, as PostgreSQL writes a `tsvector`."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    at = 1
    for text in (asked, answered):
        for word in folded_words(text).split():
            if len(word) <= _LONGEST_WORD and len(places[word]) < _MOST_PLACES:
                places[word].append(min(at, _LAST_PLACE))
            at += 1
        at += _GAP
    return " ".join(f"'{word}':{','.join(map(str, numbers))}" for word, numbers in places.items() if numbers)


def text_query(terms: Sequence[SearchTerm]) -> str:
    """What is looked for, as PostgreSQL writes a `tsquery`; "" for nothing. A word has letters and digits alone, so there is
    nothing to escape."""
    phrases: list[str] = []
    for term in terms:
        words = [f"'{word[:_LONGEST_WORD]}'" for word in folded_words(term.text).split()]
        if words:
            phrases.append(" <-> ".join(words) + (":*" if term.begun else ""))
    return " & ".join(f"({phrase})" for phrase in phrases)
