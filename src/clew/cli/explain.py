"""`clew explain`: what a word of clew's, or the id of a rule, means."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Final

import click

from clew.cli.command import json_option
from clew.cli.output import Page, TextLine, print_result, printable_table
from clew.model.facts.glossary import Term, glossary, term_named
from clew.model.facts.rules import OpenaiRule, Rule, openai_rules, rules

_GRADES: Final = {
    "A": "documented by the vendor",
    "B": "measured at the vendor's API",
    "C": "reported by users, with the exact message",
    "D": "derived from other rules",
}
_RULE: Final = re.compile(r"[Rr]\d+(\..+)?|(?:responses|chat)\..+")


@click.command(short_help="Explain one of clew's words, or a rule by its id.")
@click.argument("word", nargs=-1, metavar="[WORD|RULE]")
@json_option
def explain(word: tuple[str, ...], json_: bool) -> None:
    """Explain a word that clew's help, log and pages use, or a rule of the vendor by its id. Without WORD: list the words.

    \b
    Examples:
      clew explain seal
      clew explain left out
      clew explain R33                        every rule about thinking blocks as they are sent
      clew explain responses.call-unanswered
      clew explain --json | jq 'keys'

    Exit status: 0 ok, 2 an unknown word.
    """
    wanted = " ".join(word)
    if not wanted:
        print_result(glossary(), _list_page(), as_json=json_)
        return
    # The rule of this id, or all rules of a number.
    known: dict[str, Rule | OpenaiRule] = {**rules(), **openai_rules().rules}
    folded = wanted.casefold()
    found: Sequence[Rule | OpenaiRule] = [
        rule for name, rule in known.items() if folded in (name.casefold(), name.partition(".")[0].casefold())
    ]
    if found:
        print_result(found, [*_rules_page(found)], as_json=json_)
        return
    term = term_named(wanted)
    if term is None:
        raise click.UsageError(_unknown(wanted))
    print_result(term, [*_term_page(term)], as_json=json_)


def _unknown(wanted: str) -> str:
    if _RULE.fullmatch(wanted):
        return f"There is no rule {wanted!r}. docs/reference/rules.md lists them."
    words = [name for term in glossary().values() for name in (term.name, *term.also)]
    alike = get_close_matches(wanted.casefold(), words, 1)
    hint = f"Did you mean {alike[0]!r}? " if alike else ""
    return f"{wanted!r} is not in clew's list of words. {hint}`clew explain` prints the list."


def _list_page() -> Page:
    return [printable_table(("word", "meaning"), [(term.name, term.short) for term in glossary().values()])]


def _term_page(term: Term) -> Iterator[TextLine]:
    yield TextLine(term.name, "head")
    yield TextLine(term.short)
    if term.more:
        yield TextLine(term.more)
    if term.also:
        yield TextLine(f"Explained here too: {', '.join(term.also)}.", "quiet")
    if term.page:
        yield TextLine(f"More: {term.page}", "quiet")


def _rules_page(found: Sequence[Rule | OpenaiRule]) -> Iterator[TextLine]:
    for number, rule in enumerate(found):
        if number:
            yield TextLine("")
        yield TextLine(rule.id, "head")
        yield TextLine(rule.means)
        yield TextLine(f"The API says: {rule.text}")
        if rule.right:
            yield TextLine(f"Right:        {rule.right}")
        if isinstance(rule, Rule):
            yield TextLine(f"Known by:     {_GRADES[rule.grade]} ({rule.source})", "quiet")
