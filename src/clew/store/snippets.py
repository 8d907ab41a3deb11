"""The text around the words that a search found, with the words marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from clew.store.words import BREAK, END, SNIPPET_WORDS, START, WORD, SearchTerm, folded_words

_BEFORE: Final = 4
"""Words that are shown ahead of the first one that was found, where the text is long."""


class _Word(NamedTuple):
    start: int
    end: int
    folded: str


def snippet_of(texts: Sequence[str], terms: Sequence[SearchTerm]) -> str:
    """Of the texts, the part of the one with the most of the terms; what was found stands between `START` and `END`."""
    best, most, found = "", -1, list[tuple[int, int]]()
    words = list[_Word]()
    for text in texts:
        in_text = [_Word(match.start(), match.end(), folded_words(match[0]).strip()) for match in WORD.finditer(text)]
        phrases = [_phrases_in(in_text, term) for term in terms]
        count = sum(bool(phrase) for phrase in phrases)
        if count > most:
            best, most, words = text, count, in_text
            found = sorted({place for phrase in phrases for place in phrase})
    # So many words of the best text from shortly before the first find on, with every find in them marked.
    first, last = 0, len(words)
    if len(words) > SNIPPET_WORDS:
        first = max(0, min(found[0][0] - _BEFORE if found else 0, len(words) - SNIPPET_WORDS))
        last = first + SNIPPET_WORDS
    start = words[first].start if first else 0
    end = words[last].start if last < len(words) else len(best)
    parts, at = ["…" if first else ""], start
    for one, other in found:
        if first <= one and other < last and words[one].start >= at:
            parts += [best[at : words[one].start], START, best[words[one].start : words[other].end], END]
            at = words[other].end
    parts += [best[at:end].rstrip(BREAK) if last < len(words) else best[at:end], "…" if last < len(words) else ""]
    return "".join(parts)


def _phrases_in(words: Sequence[_Word], term: SearchTerm) -> list[tuple[int, int]]:
    """The first and the last word of each place where the term stands."""
    wanted = folded_words(term.text).split()
    found: list[tuple[int, int]] = []
    for at in range(len(words) - len(wanted) + 1) if wanted else ():
        here = [word.folded for word in words[at : at + len(wanted)]]
        is_last = here[-1].startswith(wanted[-1]) if term.begun else here[-1] == wanted[-1]
        if is_last and here[:-1] == wanted[:-1]:
            found.append((at, at + len(wanted) - 1))
    return found
