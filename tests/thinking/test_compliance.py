"""The compliance check: every static rule from both sides, and what it says.

The vendor names the first broken rule; a person who repairs a request wants to hear all at once.
"""

from __future__ import annotations

import copy

import pytest

from clew.model.facts import rules
from clew.model.facts.models import profile_for
from clew.thinking.compliance import CHECKS, OUTSIDE, TOUCHED, Violation, check, not_checkable
from tests.build import assistant, raw, redacted, text, thinking, tool_use, user
from tests.conversations.asked import OLD, Asked, ask, bare, headers
from tests.conversations.rulebook import CASES, Case, accepted, refused
from tests.conversations.rulebook.roles import IMAGE

PDF = {"type": "document", "source": {"type": "url", "url": "https://papers.example/1.pdf"}}
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


# ── what a caller can say


def test_the_same_request_as_bytes_and_as_an_object_is_judged_alike() -> None:
    """Whichever a caller holds."""
    asked = ask(user(""), system=" ", n=1)
    assert check(asked.body, headers=asked.headers) == check(asked.raw, headers=asked.headers) != ()


def test_the_check_changes_nothing() -> None:
    """It never repairs what it finds."""
    asked = ask(user(""), assistant(thinking("hm", "")), model=OLD, temperature=3)
    before = copy.deepcopy(asked.body)
    check(asked.body, headers=asked.headers)
    assert asked.body == before


def test_all_that_the_first_failing_phase_finds_is_named_in_the_order_of_rules_and_places() -> None:
    """The schema's findings by rule, then by index as a number; nothing of a later phase."""
    ten = [user("x")] * 10
    asked = ask(*ten, {"role": "tool"}, {"role": "user"}, user("") | {"x": 1}, max_tokens=-1)
    found = check(asked.raw, headers=asked.headers)
    assert [(each.rule, each.path) for each in found] == [
        ("R4.field-required", "messages.11.content"),
        ("R23.role-unknown", "messages.10.role"),
        ("R4.out-of-range", "max_tokens"),
        ("R4.key-unknown", "messages.12.x"),
    ]


def test_without_headers_only_the_body_is_judged() -> None:
    """A file has none: the older version, and every gate open."""
    asked = ask(context_management={"edits": []}, temperature=1)
    assert check(asked.body) == ()
    assert [each.rule for each in check(asked.body, headers=headers())] == ["R51.gated"]


def test_header_names_may_be_written_in_any_case() -> None:
    """HTTP."""
    assert check(ask().body, headers={"Anthropic-Version": "2023-06-01", "ANTHROPIC-BETA": "effort-2025-11-24"}) == ()


def test_another_profile_than_the_models_own_can_be_asked_for() -> None:
    """What a target would say, before the model's name is changed."""
    asked = ask(user("a"), {"role": "system", "content": "b"})
    found = check(asked.body, profile=profile_for("claude-sonnet-5"))
    assert [each.rule for each in found] == ["R32.role-unsupported"]


def test_rules_of_a_grade_can_be_left_out() -> None:
    """C and D are reports and inferences."""
    asked = ask(user("a"), assistant(tool_use("t1")), user("b"))
    assert [each.rule for each in check(asked.raw, headers=asked.headers)] == ["R26.unanswered"]
    assert check(asked.raw, headers=asked.headers, without_grades="C") == ()


# ── what it cannot know

SIGNED = assistant(thinking("hm", "s1g"), redacted("d4ta"), text("b"))
ALWAYS = ("R5.model-unknown", "R5.model-retired", "R8.prompt-too-long")


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        (ask(), ALWAYS),
        (
            ask(user("a"), SIGNED, user("c"), model=OLD),
            (*ALWAYS[:2], "R33.invalid-signature", "R33.invalid-data", "R34.modified", "R34.text-edited", ALWAYS[2]),
        ),
        (
            ask(user("a"), SIGNED, user("c"), assistant("d"), user("e")),
            (*ALWAYS[:2], "R33.invalid-signature", "R33.invalid-data", "R44.conversation", ALWAYS[2]),
        ),
        (ask(user(IMAGE)), (*ALWAYS[:2], "R64.image-dimensions", "R64.image-unreadable", ALWAYS[2])),
        (ask(user(text("a"), PDF)), (*ALWAYS[:2], "R64.pdf-pages", ALWAYS[2])),
        (ask(model="claude-opus-4-1"), (*ALWAYS, "R8.prompt-and-output-too-long")),
        (bare(b"[]"), ()),
        (bare(b"{"), ()),
    ],
)
def test_what_only_the_vendor_can_judge_is_named(asked: Asked, named: tuple[str, ...]) -> None:
    """Signatures, bindings, pictures, token counts: as far as this request comes near them."""
    assert not_checkable(asked.raw) == named


def test_a_disputed_rule_is_named_where_the_stance_has_it() -> None:
    """C-9: blocks that the model cannot read are dropped, or refused."""
    asked = ask(user("a"), SIGNED, user("c"))
    assert "R43.unreadable" not in not_checkable(asked.raw)
    assert "R43.unreadable" in not_checkable(asked.raw, stance={"C-9": "reject"})


CARELESS = raw(user("hi"), assistant(thinking("x", ""), text("")), user("y"), temperature=0.3)


def test_the_first_failing_phase_is_what_the_vendor_would_name() -> None:
    assert [each.rule for each in check(CARELESS)] == ["R14.temperature-deprecated"]


def test_thorough_names_what_the_later_phases_find_too_and_the_same_first() -> None:
    found = [each.rule for each in check(CARELESS, thorough=True)]

    assert found == ["R14.temperature-deprecated", "R22.empty-text", "R33.empty-signature"]


def test_a_request_without_its_shape_is_not_read_any_further() -> None:
    found = check(b'{"messages":[{"role":"user","content":""}],"novelty":1}', thorough=True)

    assert {each.rule.partition(".")[0] for each in found} == {"R4"}
