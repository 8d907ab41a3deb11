"""The compliance check: every static rule from both sides, and what it says."""

from __future__ import annotations

import pytest

from clew.model.facts import rules
from clew.thinking.compliance import CHECKS, Violation, check
from clew.thinking.compliance.unchecked import OUTSIDE, TOUCHED
from tests.conversations.asked import Asked
from tests.conversations.rulebook import CASES, Case, accepted, refused

STATIC = [rule for rule in rules().values() if rule.static]


def found(asked: Asked, case: Case) -> tuple[Violation, ...]:
    return check(asked.raw, headers=asked.headers, stance=case.stance, also=case.also, counting=asked.counting)


@pytest.mark.parametrize("case", accepted(CASES))
def test_what_the_rule_lets_pass_has_no_violation(case: Case) -> None:
    """The nearest legal request; the rule book's own legal shapes where it names some."""
    assert found(case.good, case) == ()


@pytest.mark.parametrize("case", refused(CASES))
def test_what_the_rule_refuses_is_named_first_with_the_vendors_words(case: Case) -> None:
    """Rule, path, words and what would be right, as the table of rules has them."""
    rule = rules()[case.rule]
    words = rule.text.format(path=case.path, **case.said)
    assert found(case.bad, case)[0] == Violation(case.rule, case.path, words, rule.right)


def test_every_static_rule_has_a_case() -> None:
    """No rule without both sides."""
    assert {case.rule for case in CASES} == {rule.id for rule in STATIC}


def test_every_check_is_a_static_rules() -> None:
    """A function for a rule that the table does not have, or that only the vendor can judge, would never be reached."""
    assert set(CHECKS) <= {rule.id for rule in STATIC}


def test_every_other_rule_is_named_as_not_checkable_or_is_no_part_of_a_request() -> None:
    """`not_checkable` knows all rules that need the vendor's secrets."""
    assert {*TOUCHED, *OUTSIDE} == {rule.id for rule in rules().values() if not rule.static}
