"""Words that have a meaning of their own in clew, each explained in one sentence: rows of `glossary.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from msgspec import Struct

from clew.model.facts.tables import read_table, to_rows

_FILE: Final = "glossary.toml"


class Term(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One word, and what it means."""

    name: str
    short: str
    more: str = ""
    also: tuple[str, ...] = ()
    page: str = ""


@cache
def glossary() -> Mapping[str, Term]:
    """By name, in the order of the file."""
    return to_rows(Term, read_table(_FILE), file=_FILE)


def term_named(word: str) -> Term | None:
    """The term of this name, or that explains this word too; capitals and a plural do not matter."""
    wanted = word.strip().casefold()
    by_word = {known: term for term in glossary().values() for known in (term.name, *term.also)}
    return by_word.get(wanted) or by_word.get(wanted.removesuffix("s"))
