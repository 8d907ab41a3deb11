"""The order of checks, grades that are switched off, and that nothing a client sends makes the judge fall over (R63)."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.model.facts import PHASES, blocks, fields, rules
from clew.simulator.anthropic.judge import static_violations
from clew.simulator.interfaces import Grade
from clew.simulator.server import stance
from tests.counts import examples
from tests.manifest import proves
from tests.simulator.judging import ask, assistant, call, headers, request, result, thought, user

LADDER: list[dict[str, Any]] = [
    {"max_tokens": "many"},
    {"model": "claude-opus-9"},
    {"stop_sequences": [" "]},
    {"messages": [user("Hi."), {"role": "user", "content": ""}, assistant(thought())]},
    {"messages": [user("Hi."), assistant(thought())]},
    {"messages": [user("Hi."), assistant(thought(), "Hello."), user("Go on.")]},
]
"""Each breaks one phase, and may break later ones too."""
STEPS = ["schema", "model", "parameters", "structure", "layout", "signature"]


@pytest.mark.parametrize("first", range(len(LADDER)))
@proves("rule:R63.lone-surrogate")
def test_the_first_phase_that_finds_something_answers(first: int) -> None:
    """R63: schema, model, parameters, structure, layout, signature, whatever else is wrong further on."""
    body = request()
    for changes in reversed(LADDER[first:]):
        body |= changes
    violation = ask(body).violation
    assert violation is not None
    assert rules()[violation.rule].phase == STEPS[first]


def test_the_phases_are_the_books() -> None:
    """R63: the ladder follows the order of the table."""
    assert [phase for phase in PHASES if phase in STEPS] == STEPS


def test_within_a_phase_the_row_counts_before_the_path() -> None:
    """Both judges sort by (row, path), indices by number."""
    wrong = [{"role": "user", "content": [{"type": "text", "text": "x", "foo": 1}]}] * 12
    body = request(messages=[*wrong, {"role": "owner", "content": ""}], bar=1)
    found = static_violations(json.dumps(body).encode(), headers())
    assert [violation.rule for violation in found] == ["R23.role-unknown", "R4.field-unknown", *["R4.key-unknown"] * 12]
    assert [violation.path for violation in found[2:]] == [f"messages.{n}.content.0.text.foo" for n in range(12)]


GRADES: list[tuple[dict[str, Any], Grade]] = [
    ({"stop_sequences": [" "]}, "B"),
    ({"tool_choice": {"type": "auto"}}, "C"),
    ({"messages": []}, "D"),
    ({"model": "claude-opus-5-5", "thinking": {"type": "disabled"}}, "A"),
]


@pytest.mark.parametrize(("changes", "grade"), GRADES)
def test_rules_of_a_grade_can_be_switched_off(changes: dict[str, Any], grade: Grade) -> None:
    """Each rejection is tagged with its grade, so that tests can leave out what is not sure."""
    violation = ask(request(**changes)).violation
    assert violation is not None
    assert violation.grade == grade
    assert ask(request(**changes), stance=stance({"without_grades": [grade]})).violation is None


KEYS = sorted(
    {key for shape in fields().shapes.values() for key in shape.fields}
    | {key for block in blocks().values() for key in block.fields}
)
WORDS = [
    *blocks(),
    "user",
    "assistant",
    "system",
    "enabled",
    "adaptive",
    "disabled",
    "any",
    "tool",
    "ephemeral",
    "1h",
    "",
    " ",
]
leaves = (
    st.none()
    | st.booleans()
    | st.integers(-1, 5000)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(WORDS)
)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=25,
)
bodies = st.fixed_dictionaries(
    {
        "model": st.sampled_from(["claude-opus-5-5", "claude-sonnet-4-5", "x"]) | leaves,
        "messages": st.lists(values, max_size=5) | leaves,
    },
    optional={key: values for key in fields().shapes["request"].fields if key not in ("model", "messages")},
)
OFF = st.sets(st.sampled_from("ABCD")).map(sorted)


@pytest.mark.slow
@settings(max_examples=examples(72, soak=6000), deadline=None)
@given(body=bodies, off=OFF, kind=st.sampled_from(["anthropic", "compat"]))
def test_no_body_makes_the_judge_raise(body: Any, off: list[str], kind: str) -> None:
    """The judge never raises for what a client can send, not even with every grade switched off."""
    chosen = stance({"without_grades": off})
    verdict = ask(body, stance=chosen, kind=kind)
    assert (verdict.violation is None) == (verdict.signer is not None)
    assert isinstance(static_violations(json.dumps(body).encode(), headers(), stance=chosen), list)


messages = st.lists(
    st.fixed_dictionaries(
        {
            "role": st.sampled_from(["user", "assistant", "system"]),
            "content": st.lists(
                st.sampled_from([{"type": "text", "text": "a"}, call(), result(), thought(), {"type": "text", "text": " "}]),
                max_size=4,
            ),
        }
    ),
    max_size=6,
)


@pytest.mark.slow
@settings(max_examples=examples(72, soak=6000), deadline=None)
@given(messages=messages)
def test_what_is_static_is_what_the_judge_says_first(messages: Any) -> None:
    """A static finding of an early phase is the verdict, unless a phase that is not static comes before it."""
    raw = json.dumps(request(messages=messages)).encode()
    found, violation = static_violations(raw, headers()), ask(raw).violation
    if found and rules()[found[0].rule].phase != "signature":
        assert violation == found[0]
    if not found:
        assert violation is None or not rules()[violation.rule].static
