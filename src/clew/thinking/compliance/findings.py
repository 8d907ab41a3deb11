"""What the check found, and how it is said: in the order of the rules, in the vendor's words, with what would be right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from msgspec import Struct

from clew.model.facts import path_order, rules

__all__ = ["Finding", "Violation", "in_order"]

MOST = 1_000
"""Of each rule. More than anyone reads; a hostile body can break a rule a million times."""


class Finding(NamedTuple):
    """A rule that is broken, where, and the names that its words need."""

    rule: str
    path: str
    said: Mapping[str, object]


class Violation(Struct, frozen=True):
    """One broken rule.

    >>> from clew import check
    >>> [violation] = check({"model": "claude-opus-5-5", "max_tokens": 100, "messages": []})
    >>> violation.rule, violation.path, violation.right
    ('R18.no-messages', 'messages', 'At least one user message.')
    """

    rule: str
    """`R33.empty-signature`: a row of rules.toml."""
    path: str
    """Where, as the vendor names it: `messages.3.content.0.thinking.signature`; "" for the whole request."""
    words: str
    """What the vendor answers."""
    right: str
    """What would be right."""


def in_order(findings: Iterable[Finding]) -> tuple[Violation, ...]:
    """By the order of checking, then by place; of each rule the first ones."""
    table = rules()
    return tuple(
        map(_violation, sorted(_first_of_each(findings), key=lambda each: (table[each.rule].order, path_order(each.path))))
    )


def _first_of_each(findings: Iterable[Finding]) -> Iterator[Finding]:
    counts = Counter[str]()
    for each in findings:
        counts[each.rule] += 1
        if counts[each.rule] <= MOST:
            yield each


def _violation(finding: Finding) -> Violation:
    rule = rules()[finding.rule]
    return Violation(rule.id, finding.path, rule.words(path=finding.path, **finding.said), rule.right)
