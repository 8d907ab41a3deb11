"""The findings of a check, and how they are reported: in the order of the rules, in the vendor's words, with a remedy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec import Struct

from clew.model.facts import path_order, rules

MOST = 1_000
"""Findings of each rule. More than anyone reads; a hostile body can break a rule a million times."""


class Defect(NamedTuple):
    """Where a rule is broken, and the names that the vendor's words need."""

    path: str
    names: Mapping[str, object]


def at(path: str, **names: object) -> Defect:
    return Defect(path, names)


class RuleFinding(NamedTuple):
    """A broken rule, where, and the names that the vendor's words need."""

    rule: str
    path: str
    names: Mapping[str, object]


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


def in_order(findings: Iterable[RuleFinding]) -> tuple[Violation, ...]:
    """The violations, by the order of checking, then by place; of each rule the first ones."""
    table, counts, kept = rules(), Counter[str](), list[RuleFinding]()
    for each in findings:
        counts[each.rule] += 1
        if counts[each.rule] <= MOST:
            kept.append(each)
    kept.sort(key=lambda each: (table[each.rule].order, path_order(each.path)))
    violations: list[Violation] = []
    for each in kept:
        rule = table[each.rule]
        violations.append(Violation(rule.id, each.path, rule.words(path=each.path, **each.names), rule.right))
    return tuple(violations)
