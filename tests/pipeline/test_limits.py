"""How long an answer may be, and which tools may be forced."""

import json
from typing import Any

import pytest

from clew.dialects.openai_chat.requests import read_request
from clew.model.change import Change
from clew.model.request import Request
from clew.pipeline.parameters import answer_form, answer_length, forced_tools, stop_words
from clew.pipeline.thinking_parameter import thinking_parameter
from tests.build import request, user
from tests.pipeline.targets import run

MANUAL = {"type": "enabled", "budget_tokens": 2000}


@pytest.mark.parametrize(
    ("name", "asked", "sent"),
    [
        ("claude-haiku-4-5", 128000, 64000),
        ("claude-haiku-4-5", 64000, 64000),
        ("claude-3-5-haiku", 32000, 8192),
        ("claude-opus-5-5", 128000, 128000),
        ("qwen3-32b", 10**6, 10**6),
        ("claude-haiku-4-5", "many", "many"),
    ],
)
def test_an_answer_is_asked_for_no_longer_than_the_model_gives(name: str, asked: Any, sent: Any) -> None:
    """R7: over the cap is refused; where nobody knows the cap, nothing is."""
    body, changes = run(answer_length, request(user("hi"), max_tokens=asked), name)
    assert body["max_tokens"] == sent
    why = f"{asked} is more than this model allows ({sent}) (R7)"
    assert changes == (() if asked == sent else (Change("limits", "max_tokens", "set", why),))


@pytest.mark.parametrize("choice", [{"type": "any"}, {"type": "tool", "name": "Bash", "disable_parallel_tool_use": True}])
def test_a_forced_tool_stays_forced_unless_the_config_says_otherwise(choice: dict[str, Any]) -> None:
    """R49: the vendor answers."""
    assert run(forced_tools, request(user("hi"), tool_choice=choice))[1] == ()
    body, changes = run(forced_tools, request(user("hi"), tool_choice=choice), forced_tools="auto")
    assert body["tool_choice"] == {key: value for key, value in choice.items() if key not in ("name", "type")} | {
        "type": "auto"
    }
    assert changes == (Change("limits", "tool_choice", "set", "this model refuses forced tools (R49)"),)


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("claude-opus-5", {"tool_choice": {"type": "any"}}),
        ("claude-opus-4-6", {"tool_choice": {"type": "any"}, "thinking": {"type": "adaptive"}}),
        ("claude-haiku-4-5", {"tool_choice": {"type": "any"}, "thinking": {"type": "disabled"}}),
        ("claude-opus-5-5", {"tool_choice": {"type": "auto"}}),
        ("claude-opus-5-5", {"tool_choice": "any"}),
        ("claude-opus-5-5", {}),
    ],
)
def test_a_tool_that_may_be_forced_stays_forced(name: str, fields: dict[str, Any]) -> None:
    """R49: only where the model, or manual thinking, refuses it."""
    assert run(forced_tools, request(user("hi"), **fields), name, forced_tools="auto")[1] == ()


def test_manual_thinking_forbids_forced_tools() -> None:
    """R49."""
    given = request(user("hi"), tool_choice={"type": "any"}, thinking=MANUAL)
    body, changes = run(forced_tools, given, "claude-haiku-4-5", forced_tools="auto")
    assert body["tool_choice"] == {"type": "auto"}
    assert changes == (Change("limits", "tool_choice", "set", "not with thinking.type enabled (R49)"),)


# Clients of another dialect ask for what is legal there.


def of_chat(**fields: Any) -> Request:
    tools = [{"type": "function", "function": {"name": "f"}}]
    raw = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "tools": tools, **fields}
    return read_request(json.dumps(raw).encode(), {})


def test_a_client_of_another_dialect_is_not_refused_for_a_forced_tool() -> None:
    """R49: no client of OpenAI's can know that of Claude."""
    body, changes = run(forced_tools, of_chat(tool_choice="required"))
    assert body["tool_choice"] == {"type": "auto"}
    assert changes == (Change("limits", "tool_choice", "set", "this model refuses forced tools (R49)"),)
    assert run(forced_tools, of_chat(tool_choice="required"), "claude-opus-5")[1] == ()


def test_a_client_of_another_dialect_may_send_blank_stop_sequences() -> None:
    """R15. From a client of Anthropic's they are left to the vendor to refuse."""
    body, changes = run(stop_words, of_chat(stop=["\n", "END", " "]))
    assert body["stop_sequences"] == ["END"]
    assert [change.path for change in changes] == ["stop_sequences.0", "stop_sequences.2"]
    assert "stop_sequences" not in run(stop_words, of_chat(stop="\n\n"))[0]
    for as_it_is in (of_chat(stop=["END"]), of_chat(), request(user("hi"), stop_sequences=["\n"])):
        assert run(stop_words, as_it_is)[1] == ()


def test_a_schema_for_the_answer_goes_to_models_that_take_one() -> None:
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}}
    given = of_chat(response_format=form, reasoning_effort="low")
    body, changes = run(answer_form, given, "claude-sonnet-4")
    assert body["output_config"] == {"effort": "low"}
    assert [change.path for change in changes] == ["output_config.format"]
    assert "output_config" not in run(answer_form, of_chat(response_format=form), "claude-sonnet-4")[0]
    own = request(user("hi"), output_config={"format": {"type": "json_schema", "schema": {}}})
    for as_it_is, name in (
        (given, "claude-opus-5-5"),
        (of_chat(), "claude-sonnet-4"),
        (own, "claude-sonnet-4"),
    ):
        assert run(answer_form, as_it_is, name)[1] == ()


@pytest.mark.parametrize(
    ("name", "wish"),
    [
        ("claude-opus-5-5", {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "low"}}),
        ("claude-haiku-4-5", {"thinking": {"type": "enabled", "budget_tokens": 1024, "display": "summarized"}}),
    ],
)
def test_an_effort_that_claude_has_no_word_for_is_its_least(name: str, wish: dict[str, Any]) -> None:
    """R12. OpenAI's `minimal`."""
    body, changes = run(thinking_parameter, of_chat(reasoning_effort="minimal", max_tokens=9000), name)
    assert {key: body[key] for key in ("thinking", "output_config") if key in body} == wish
    assert changes
