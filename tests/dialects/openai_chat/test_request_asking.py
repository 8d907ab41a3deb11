"""Thinking and effort, from every form of the client's to every kind of backend."""

from __future__ import annotations

from typing import Any

import pytest

from clew.dialects.openai_chat.options import ChatOptions, ChatRequestOptions
from clew.dialects.openai_chat.requests import write_request
from clew.errors import SettingsInvalid
from clew.model.facts.chat_backends import LEVELS, knob, knobs, level_of_budget
from tests.build import Json, request, user
from tests.dialects.openai_chat.encoding import body, changes, told
from tests.manifest import proves

ADAPTIVE: Json = {"thinking": {"type": "adaptive"}}
PLAIN = {"model", "messages", "max_tokens"}


def asked(**fields: Any) -> Any:
    return request(user("hi"), **fields)


def effort(level: str, **more: Any) -> Any:
    return asked(output_config={"effort": level}, **more)


def enabled(tokens: int, **more: Any) -> Any:
    return asked(**{"max_tokens": 64_000, "thinking": {"type": "enabled", "budget_tokens": tokens}, **more})


def knobs_of(request: Any, name: str, **wire: Any) -> Json:
    """Only what the request asks for in the way of thinking."""
    return {key: value for key, value in body(request, knob=name, **wire).items() if key not in PLAIN}


@proves("req:S3-42")
@pytest.mark.parametrize("name", knobs())
def test_a_knob_answers_for_every_level_either_in_words_or_by_rounding_to_words(name: str) -> None:
    row = knob(name)

    assert sorted([*row.says, *row.rounds]) == sorted(LEVELS)
    assert set(row.rounds.values()) <= set(row.says)
    assert row.sources


@proves("req:S3-42")
@pytest.mark.parametrize("name", knobs())
@pytest.mark.parametrize("level", ["low", "medium", "high", "xhigh", "max"])
def test_an_effort_is_said_in_the_words_of_its_row_and_rounding_is_told(name: str, level: Any) -> None:
    row = knob(name)

    assert knobs_of(effort(level), name) == row.says[row.meant(level)]
    assert told(effort(level), knob=name) == ([("output_config.effort", "replaced")] if level in row.rounds else [])


ROWS = {
    # knob: off, low, medium, xhigh, max, auto; by the mapping table
    "reasoning_effort": ("none", "low", "medium", "xhigh", "xhigh", None),
    "gpt_oss": ("low", "low", "medium", "high", "high", None),
    "ollama": ("none", "low", "medium", "max", "max", None),
    "deepseek": (None, "low", "high", "max", "max", None),
    "glm": (None, "low", "high", "max", "max", None),
    "kimi_k3": ("low", "low", "high", "max", "max", None),
}


@proves("req:S3-42")
@pytest.mark.parametrize("name", ROWS)
def test_levels_are_those_of_the_mapping_table(name: str) -> None:
    """dialects 5."""
    forms = [asked(thinking={"type": "disabled"}), *(effort(each) for each in ("low", "medium", "xhigh", "max"))]

    said = [knobs_of(form, name).get("reasoning_effort") for form in [*forms, asked(**ADAPTIVE)]]

    assert tuple(said) == ROWS[name]


def test_every_form_of_the_client_against_a_switch_with_levels() -> None:
    """dialects 7, case 61."""
    on = {"type": "enabled"}

    assert knobs_of(asked(), "deepseek") == {}
    assert knobs_of(asked(**ADAPTIVE), "deepseek") == {"thinking": on}
    assert knobs_of(effort("max", **ADAPTIVE), "deepseek") == {"thinking": on, "reasoning_effort": "max"}
    assert knobs_of(enabled(24_576), "deepseek") == {"thinking": on, "reasoning_effort": "high"}
    assert knobs_of(asked(thinking={"type": "disabled"}), "deepseek") == {"thinking": {"type": "disabled"}}
    assert knobs_of(asked(thinking={"type": "between_tools"}), "deepseek") == {"thinking": on, "reasoning_effort": "low"}


def test_disabled_outranks_effort_and_effort_outranks_a_budget() -> None:
    """dialects 5: the order of precedence."""
    off = effort("high", thinking={"type": "disabled"})

    assert knobs_of(off, "openrouter") == {"reasoning": {"enabled": False}}
    assert told(off, knob="openrouter") == [("output_config.effort", "left out")]
    assert knobs_of(enabled(2000, output_config={"effort": "high"}), "openrouter") == {"reasoning": {"effort": "high"}}


def test_thinking_between_tools_is_the_lowest_level_and_that_is_told() -> None:
    form = asked(thinking={"type": "between_tools"})

    assert knobs_of(form, "openrouter") == {"reasoning": {"effort": "minimal"}}
    assert told(form, knob="openrouter") == [("thinking", "replaced")]


def test_the_newest_effort_holds_and_a_system_message_may_bring_it() -> None:
    """dialects 2.3: an effort may change in mid-conversation."""
    older, newer = ({"role": "system", "content": "x", "output_config": {"effort": each}} for each in ("max", "low"))
    form = request(user("hi"), older, newer, output_config={"effort": "high"})

    assert body(form, knob="reasoning_effort")["reasoning_effort"] == "low"
    assert told(form, knob="reasoning_effort") == [
        ("messages.2.output_config.effort", "moved"),
        ("messages.1.output_config.effort", "left out"),
        ("output_config.effort", "left out"),
    ]


def test_what_else_a_message_configures_is_told() -> None:
    late = {"role": "system", "content": "x", "output_config": {"effort": "low", "task_budget": {"tokens": 5}}}
    form = request(user("hi"), late, output_config={"effort": "low"})

    assert told(form, knob="reasoning_effort") == [("messages.1.output_config.task_budget", "left out")]


@pytest.mark.parametrize("kind", ["disabled", "between_tools", "enabled"])
def test_a_budget_that_another_form_outranks_is_told(kind: str) -> None:
    form = effort("high", max_tokens=64_000, thinking={"type": kind, "budget_tokens": 2000})

    assert ("thinking.budget_tokens", "left out") in told(form, knob="openrouter")


def test_a_form_that_nobody_knows_is_told_and_the_backends_default_holds() -> None:
    form = asked(thinking={"type": "sideways"})

    assert knobs_of(form, "deepseek") == {}
    assert told(form, knob="deepseek") == [("thinking.type", "left out")]


@pytest.mark.parametrize(
    ("tokens", "level"),
    [(1, "low"), (1024, "low"), (4095, "low"), (4096, "medium"), (16_383, "medium"), (16_384, "high"), (32_768, "xhigh")],
)
def test_a_budget_is_the_level_whose_band_holds_it(tokens: int, level: str) -> None:
    """dialects 5."""
    assert level_of_budget(tokens) == level


def test_a_budget_said_as_a_level_is_told() -> None:
    (change,) = changes(enabled(31_999), knob="reasoning_effort")

    assert (change.path, change.what) == ("thinking.budget_tokens", "replaced")
    assert "31999 tokens are level 'high'" in change.why


def test_a_budget_goes_as_a_number_where_the_backend_takes_one() -> None:
    assert knobs_of(enabled(5000), "openrouter") == {"reasoning": {"max_tokens": 5000}}
    assert knobs_of(enabled(5000), "qwen") == {"enable_thinking": True, "thinking_budget": 5000}
    assert told(enabled(5000), knob="qwen") == []


def test_where_a_number_is_refused_its_level_is_asked_for() -> None:
    assert knobs_of(enabled(60_000), "qwen", budgets=False) == {"enable_thinking": True, "thinking_budget": 32_768}
    assert knobs_of(enabled(5000), "vllm", budgets=False) == {"reasoning_effort": "medium"}
    assert told(enabled(5000), knob="vllm", budgets=False) == [("thinking.budget_tokens", "replaced")]


@pytest.mark.parametrize(
    ("tokens", "room", "said"),
    [
        (31_999, 32_000, {"max_tokens": 30_976}),
        (500, 32_000, {"max_tokens": 1024}),
        (900_000, 1_000_000, {"max_tokens": 128_000}),
        (2000, 2000, {"effort": "low"}),
    ],
)
def test_a_budget_stays_within_the_bounds_and_leaves_room_for_the_answer(tokens: int, room: int, said: Json) -> None:
    """dialects 7, case 62: where there is no room for the least budget, the level is said instead."""
    form = enabled(tokens, max_tokens=room)

    assert knobs_of(form, "openrouter") == {"reasoning": said}
    assert [path for path, _ in told(form, knob="openrouter")] == ["thinking.budget_tokens"]


@pytest.mark.parametrize("tokens", [0, -5])
def test_a_budget_of_nothing_is_no_thinking(tokens: int) -> None:
    """dialects 7, case 62."""
    assert knobs_of(enabled(tokens), "deepseek") == {"thinking": {"type": "disabled"}}


def test_an_unknown_effort_is_told_and_the_next_form_counts() -> None:
    """dialects 7, case 62."""
    form = effort("ludicrous", **ADAPTIVE)

    assert knobs_of(form, "deepseek") == {"thinking": {"type": "enabled"}}
    assert told(form, knob="deepseek") == [("output_config.effort", "left out")]


@pytest.mark.parametrize(
    ("level", "allowed", "said"),
    [
        ("xhigh", ("low", "high"), "high"),
        ("medium", ("low", "high"), "low"),
        ("low", ("medium", "high"), "medium"),
        ("high", ("low", "high"), "high"),
    ],
)
def test_a_model_with_fewer_levels_gets_the_next_lower_else_its_lowest(level: str, allowed: Any, said: str) -> None:
    """dialects 5: snap to the model's own allowed set."""
    assert knobs_of(effort(level), "reasoning_effort", levels=allowed) == {"reasoning_effort": said}


def test_a_model_that_cannot_be_switched_off_gets_its_lowest_level() -> None:
    form = asked(thinking={"type": "disabled"})

    assert knobs_of(form, "reasoning_effort", levels=("low", "high")) == {"reasoning_effort": "low"}
    assert told(form, knob="reasoning_effort", levels=("low", "high")) == [("thinking", "replaced")]


def test_a_backend_without_a_knob_is_asked_for_nothing_and_that_is_told() -> None:
    form = effort("high", thinking={"type": "adaptive", "display": "updates"})

    assert knobs_of(form, "") == {}
    assert told(form) == [("thinking.display", "left out"), ("output_config.effort", "left out")]


def test_an_unknown_knob_is_an_error_of_the_settings() -> None:
    with pytest.raises(SettingsInvalid, match="no knob 'nope'; there are reasoning_effort, "):
        write_request(asked(**ADAPTIVE), ChatOptions(ChatRequestOptions(knob="nope")))


def test_what_a_backend_always_gets_lies_under_what_is_asked() -> None:
    """dialects 2.5: `clear_thinking` stands beside the switch."""
    always: Json = {"thinking": {"type": "disabled", "clear_thinking": False}, "tool_stream": True}

    assert knobs_of(asked(**ADAPTIVE), "thinking_type", always=always) == {
        "thinking": {"type": "enabled", "clear_thinking": False},
        "tool_stream": True,
    }
    assert always == {"thinking": {"type": "disabled", "clear_thinking": False}, "tool_stream": True}
