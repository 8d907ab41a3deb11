"""A person who repairs a request wants to hear everything at once; the vendor names the first."""

from __future__ import annotations

from clew.thinking.compliance import check
from tests.build import assistant, raw, text, thinking, user

CARELESS = raw(user("hi"), assistant(thinking("x", ""), text("")), user("y"), temperature=0.3)


def test_the_first_failing_phase_is_what_the_vendor_would_name() -> None:
    assert [each.rule for each in check(CARELESS)] == ["R14.temperature-deprecated"]


def test_thorough_names_what_the_later_phases_find_too_and_the_same_first() -> None:
    found = [each.rule for each in check(CARELESS, thorough=True)]

    assert found == ["R14.temperature-deprecated", "R22.empty-text", "R33.empty-signature"]


def test_a_request_without_its_shape_is_not_read_any_further() -> None:
    found = check(b'{"messages":[{"role":"user","content":""}],"novelty":1}', thorough=True)

    assert {each.rule.partition(".")[0] for each in found} == {"R4"}
