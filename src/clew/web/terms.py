"""Words of clew's own on the pages: each is explained where it stands, by the same table as `clew explain`.

`{{ "Realm" | term }}` is the word with its meaning for pointer, keyboard and screen reader. Where nothing can take
the focus, as inside a button, `meaning` gives the sentence alone. `explained` does it for a text that was not written
for a page.
"""

from __future__ import annotations

import re
from itertools import count
from typing import Final

from markupsafe import Markup, escape

from clew.model.facts.glossary import term_named

_EXPLAINED: Final = re.compile(r"\b(?:seals?|spool|realms?|principals?)\b")
"""Words in texts of the doctor that nobody knows without clew."""
_TERM: Final = Markup(
    '<span class="tip"><dfn tabindex="0" aria-describedby="term-{number}">{label}</dfn>'
    '<span class="tip-text" role="tooltip" id="term-{number}"><span>{short}</span>{more}</span></span>'
)
_MORE: Final = Markup('<span class="muted">{}</span>')
_numbers = count(1)
"""No two tooltips of a page have one id, also not where a part of it was fetched later."""


def term(label: str, word: str = "") -> Markup:
    """The label, explained as this word. Raises KeyError for a word that the glossary does not have.

    >>> "owner of recorded conversations" in term("whose", "principal")
    True
    """
    found = term_named(word or label)
    if found is None:
        raise KeyError(word or label)
    more = _MORE.format(ticked(found.more)) if found.more else ""
    return _TERM.format(number=next(_numbers), label=label, short=ticked(found.short), more=more)


def meaning(word: str) -> str:
    """One sentence; "" for a word that is in no glossary.

    >>> meaning("restored")
    'A block that the client lost was put back from the store, because this backend made it.'
    """
    found = term_named(word)
    return found.short if found else ""


def explained(text: str) -> Markup:
    """`ticked`, and each of clew's own words explained where it comes first."""
    parts: list[str] = []
    at, known = 0, set[str]()
    for found in _EXPLAINED.finditer(text):
        if found[0] not in known and text.count("`", 0, found.start()) % 2 == 0:
            known.add(found[0])
            parts += [ticked(text[at : found.start()]), term(found[0])]
            at = found.end()
    return Markup("").join([*parts, ticked(text[at:])])


def ticked(text: str) -> Markup:
    """Text in backticks as code; all of it escaped."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if at % 2 else escape(part) for at, part in enumerate(parts)
    )
