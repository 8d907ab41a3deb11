"""What a check finds, and what becomes of it.

A check yields `Finding`s: which rule, where, and the names that the vendor's words need. The rule book (`rules.toml`) knows
the rest: order, grade, status, wording. `violations` leaves out what is not in force, and sorts by row and path, so that the
first is the one that the vendor would name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from clew.model.facts import Rule, path_order, rules
from clew.simulator.interfaces import Stance, Violation

__all__ = ["Finding", "in_force", "refusal", "violations"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that is broken, and where. `after` are sentences that follow the rule's words."""

    rule: str
    path: str = ""
    names: Mapping[str, object] = field(default_factory=dict[str, object])
    after: str = ""


def in_force(rule: Rule, stance: Stance, asked: frozenset[str] = frozenset()) -> bool:
    """Whether this rule refuses anything. `asked` are rules that hold only for those who ask."""
    enforced = (rule.enforced or rule.id in asked) and rule.id not in stance.without_rules
    return enforced and rule.grade not in stance.without_grades and rule.in_force(stance.choices)


def violations(found: Iterable[Finding], stance: Stance, *, asked: frozenset[str] = frozenset()) -> list[Violation]:
    """The findings that count, in the vendor's order."""
    book = rules()
    counted = [finding for finding in found if in_force(book[finding.rule], stance, asked)]
    counted.sort(key=lambda finding: (book[finding.rule].order, path_order(finding.path)))
    return [refusal(finding) for finding in counted]


def refusal(finding: Finding) -> Violation:
    """The violation that a finding is, in the vendor's words."""
    rule = rules()[finding.rule]
    return Violation(
        rule=rule.id,
        grade=rule.grade,
        status=rule.status,
        error_type=rule.type,
        message=rule.words(**{"path": finding.path, **finding.names}) + finding.after,
        path=finding.path,
    )
