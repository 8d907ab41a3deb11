"""How long an answer may be, and which tools may be forced."""

from typing import Any

import pytest

from clew.model.change import Change
from clew.pipeline.parameters import answer_length, forced_tools
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
    why = f"{asked} is more than this model gives ({sent}) (R7)"
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
