"""Two judges: the compliance check and the simulator read the vendor's rules independently, and must not differ.

For every request that a rule book case, a strategy or a mutation makes: either both find nothing, or both name the same
findings of the same phase in the same order, in the same words. A difference is a mistake of one of the two, or a rule that
says too little; each one that was ever found is kept below by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from clew.model.facts import Grade, default_stances, rules, stances
from clew.simulator.anthropic.judge import static_violations
from clew.simulator.interfaces import Stance
from clew.thinking.compliance import check
from tests.build import user
from tests.conversations.asked import NEWER, OLD, Asked, ask, bare, headers
from tests.conversations.legal import legal_requests
from tests.conversations.mutations import MUTATIONS, Mutation, mutate
from tests.conversations.rulebook import CASES, Case
from tests.counts import examples
from tests.manifest import proves

Finding = tuple[str, str, str]

WORDS_DIFFER = "R4.body-not-json"
"""Where a text stops being JSON, and why, two readers may say differently."""

HELD = [rule.id for rule in rules().values() if rule.static and rule.enforced and rule.in_force(default_stances())]
ON_REQUEST = [rule.id for rule in rules().values() if not rule.enforced]

pytestmark = pytest.mark.timeout(1200)  # the soak draws thousands

generating = {"deadline": None, "suppress_health_check": list(HealthCheck)}


def doctor(asked: Asked, stance: Mapping[str, str], without: frozenset[Grade], also: frozenset[str]) -> list[Finding]:
    found = check(
        asked.raw, headers=asked.headers, stance=stance, without_grades=without, also=also, counting=asked.counting
    )
    return [(each.rule, each.path, each.words) for each in found]


def simulator(asked: Asked, stance: Mapping[str, str], without: frozenset[Grade], also: frozenset[str]) -> list[Finding]:
    found = static_violations(
        asked.raw,
        asked.headers,
        stance=Stance(choices=stance, without_grades=without),
        path="/v1/messages/count_tokens" if asked.counting else "/v1/messages",
        asked=also,
    )
    return [(each.rule, each.path, each.message) for each in found]


def comparable(findings: list[Finding]) -> list[Finding]:
    return [(rule, path, "" if rule == WORDS_DIFFER else words) for rule, path, words in findings]


def judged(
    asked: Asked,
    stance: Mapping[str, str] | None = None,
    without: frozenset[Grade] = frozenset(),
    also: frozenset[str] = frozenset(),
) -> list[Finding]:
    """What both found; fails if they differ."""
    choices = {**default_stances(), **(stance or {})}
    ours, theirs = (judge(asked, choices, without, also) for judge in (doctor, simulator))
    assert comparable(ours) == comparable(theirs), asked
    return ours


# ── the book


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule)
def test_both_judges_see_each_case_of_the_book_alike(case: Case) -> None:
    """Every static rule, from both sides."""
    also = frozenset(case.also)
    assert judged(case.good, case.stance, also=also) == []
    assert judged(case.bad, case.stance, also=also)[0][0] == case.rule


# ── legal, and one step away


@settings(max_examples=examples(24, soak=5000), **generating)
@given(legal_requests())
def test_both_judges_find_nothing_in_a_legal_request(asked: Asked) -> None:
    """Laws of the vendor, kept by construction: what is put together legally is legal to both."""
    assert judged(asked) == []


@st.composite
def altered(draw: Any, mutation: Mutation) -> Asked | None:
    return mutate(draw, mutation, draw(legal_requests(mutation.wish)))


@pytest.mark.slow
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_both_judges_see_each_mutation_alike(mutation: Mutation) -> None:
    """One step from legal: both accept, or both name the same rule first."""

    @settings(max_examples=examples(2, soak=200), **generating)
    @given(altered(mutation))
    def alike(asked: Asked | None) -> None:
        if asked is not None:
            judged(asked)

    alike()


AIMED = [mutation for mutation in MUTATIONS if mutation.rule]


@pytest.mark.slow
@pytest.mark.parametrize("mutation", AIMED, ids=lambda mutation: mutation.name)
def test_each_mutation_breaks_the_rule_that_it_aims_at(mutation: Mutation) -> None:
    """Else the catalogue would only look complete."""

    def hits(asked: Asked | None) -> bool:
        return asked is not None and judged(asked)[:1] != [] and judged(asked)[0][0] == mutation.rule

    searching = settings(max_examples=600, phases=[Phase.generate], database=None, **generating)
    assert find(altered(mutation), hits, settings=searching, random=Random(1)) is not None


def test_the_mutations_aim_at_every_rule_that_is_in_force() -> None:
    """A rule that no step breaks would be compared by the book's cases alone."""
    assert {mutation.rule for mutation in AIMED} == set(HELD)


# ── whatever the stance


HEAVY = ("send_too_much", "talk_for_ever", "show_too_large_a_picture")
"""Megabytes each, and no stance has a say in them."""


@st.composite
def disputes(draw: Any) -> tuple[Asked | None, dict[str, str], frozenset[Grade], frozenset[str]]:
    mutation = draw(st.sampled_from([mutation for mutation in MUTATIONS if mutation.name not in HEAVY]))
    stance = {name: draw(st.sampled_from(sorted(conflict.values))) for name, conflict in stances().items()}
    without = draw(st.frozensets(st.sampled_from(["C", "D"])))  # what is documented or measured cannot be switched off
    return draw(altered(mutation)), stance, without, draw(st.frozensets(st.sampled_from(ON_REQUEST)))


@pytest.mark.slow
@proves("conflict:C-2", "conflict:C-3", "conflict:C-4", "conflict:C-7", "conflict:C-8", "conflict:C-13", "conflict:C-14")
@settings(max_examples=examples(24, soak=5000), **generating)
@given(disputes())
def test_both_judges_agree_whatever_the_stance_and_the_grades(
    dispute: tuple[Asked | None, dict[str, str], frozenset[Grade], frozenset[str]],
) -> None:
    """Disputed rules either way, rules of grades C and D switched off, rules that hold only if asked for."""
    asked, stance, without, also = dispute
    if asked is not None:
        judged(asked, stance, without, also)


# ── what was found on the way


def test_an_empty_version_header_is_a_missing_one() -> None:
    """One judge took it for an unknown version."""
    asked = Asked(ask().body, {"anthropic-version": ""})
    assert [rule for rule, _, _ in judged(asked)] == ["R2.version-missing"]


def test_empty_entries_of_the_beta_header_are_none() -> None:
    """`a,,b` and a trailing comma are what joining optional values gives."""
    assert judged(Asked(ask().body, headers() | {"anthropic-beta": "effort-2025-11-24,, ,"})) == []


def test_two_gates_of_one_field_are_two_findings() -> None:
    """Sampling under the newer version, while counting: one judge named only the first gate."""
    found = judged(ask(counting=True, version=NEWER, top_p=1))
    assert [(rule, path) for rule, path, _ in found] == [("R2.top-p", "top_p"), ("R4.field-not-counted", "top_p")]


def test_half_a_character_hides_all_else_that_is_wrong_with_the_shape() -> None:
    """One judge went on, and named a path that cannot be printed."""
    assert [rule for rule, _, _ in judged(bare(b'{"\\ud800": 1}'))] == ["R63.lone-surrogate"]


def test_no_json_comes_before_half_a_character() -> None:
    """R63: JSON before schema."""
    assert [rule for rule, _, _ in judged(bare(b'{"a": "\\ud800", "b": NaN}'))] == ["R4.body-not-json"]


def test_a_number_beyond_all_range_is_no_half_character() -> None:
    """A lax reader makes 1e400 infinite; what the strict one refused was then taken for a surrogate."""
    assert [rule for rule, _, _ in judged(bare(b'{"temperature": 1e400}'))] == ["R4.body-not-json"]


def test_a_gated_value_is_not_looked_into() -> None:
    """To the vendor it is an unknown key; the wrong kind inside would otherwise come first."""
    found = judged(ask(context_management={"edits": 5}))
    assert [rule for rule, _, _ in found] == ["R51.gated"]


def test_what_is_no_block_is_no_wrong_block_of_a_system_message() -> None:
    """With grade D switched off nobody says that it has no type; one judge then said that `` has no place there."""
    system = {"role": "system", "content": [{"type": "text", "text": "be brief"}, {"text": "and kind"}]}
    assert judged(ask(user("hi"), system), without=frozenset("D")) == []


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b'{"model": "\\ud800"}'])
def test_no_grade_makes_a_body_readable(raw: bytes) -> None:
    """One judge went on with nothing when grades B and D were switched off."""
    assert len(judged(bare(raw), without=frozenset("ABCD"))) == 1


def test_the_entries_of_too_long_a_list_are_not_looked_at() -> None:
    """R17; else a wrong entry would come first, and take its time."""
    found = judged(ask(messages=[{}] * 100_001, model=OLD))
    assert [rule for rule, _, _ in found] == ["R17.too-many-messages"]


def test_depth_alone_makes_no_json() -> None:
    """128 levels are read, one more is not, in a value that nobody looks at."""
    deep: Any = {}
    for _ in range(124):  # four levels are around it: request, messages, message, content
        deep = {"in": deep}
    call = {"type": "tool_use", "id": "t1", "name": "f", "input": deep}
    result = {"type": "tool_result", "tool_use_id": "t1"}
    talk = [user("a"), {"role": "assistant", "content": [call]}, user(result)]
    assert [rule for rule, _, _ in judged(ask(*talk))] == ["R4.body-not-json"]
    call["input"] = deep["in"]["in"]
    assert judged(ask(*talk)) == []
