"""Tools and the choice among them, as functions of Chat Completions."""

from __future__ import annotations

from typing import Any

import pytest

from clew.errors import Unrepresentable
from tests.build import Json, assistant, request, tool_result, tool_use, user
from tests.dialects.openai_chat.encoding import body, told

SCHEMA: Json = {"type": "object", "properties": {"path": {"type": "string"}}}
READ: Json = {"name": "Read", "description": "Reads.", "input_schema": SCHEMA}
FUNCTION: Json = {"type": "function", "function": {"name": "Read", "description": "Reads.", "parameters": SCHEMA}}


def asking(choice: Json | None = None, tool: Json = READ, **more: Any) -> Any:
    return request(user("go"), tools=[tool], **({} if choice is None else {"tool_choice": choice}), **more)


def test_a_tool_is_a_function_and_what_only_anthropic_reads_is_left_out() -> None:
    tool = {**READ, "type": "custom", "cache_control": {"type": "ephemeral"}, "eager_input_streaming": True}
    asked = asking(tool=tool)

    assert body(asked)["tools"] == [FUNCTION]
    assert told(asked) == [("tools.0.cache_control", "left out"), ("tools.0.eager_input_streaming", "left out")]


def test_no_tools_are_no_key() -> None:
    assert "tools" not in body(request(user("go"), tools=[]))


CLOSED: Json = {**SCHEMA, "required": ["path"], "additionalProperties": False}


def test_strict_is_passed_on_only_where_the_backend_takes_it() -> None:
    asked = asking(tool={**READ, "input_schema": CLOSED, "strict": True})

    assert body(asked, strict_tools=True)["tools"][0]["function"]["strict"] is True
    assert "strict" not in body(asked)["tools"][0]["function"]
    assert told(asked) == [("tools.0.strict", "left out")]


@pytest.mark.parametrize(
    "schema",
    [
        SCHEMA,
        {**CLOSED, "required": []},
        {**CLOSED, "additionalProperties": True},
        {**CLOSED, "properties": {"path": {"type": "array", "items": SCHEMA}}},
        {**CLOSED, "properties": {"path": {"anyOf": [{"type": "null"}, SCHEMA]}}},
    ],
)
def test_strict_is_left_out_where_an_object_is_open(schema: Json) -> None:
    """Anthropic allows properties that are not required; OpenAI refuses the whole request for one."""
    asked = asking(tool={**READ, "input_schema": schema, "strict": True})

    assert "strict" not in body(asked, strict_tools=True)["tools"][0]["function"]
    assert told(asked, strict_tools=True) == [("tools.0.strict", "left out")]


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("web_search_20250305", "is run by Anthropic's servers, and this backend cannot run it: leave the tool out"),
        ("code_execution_20250825", "is run by Anthropic's servers"),
        ("tool_search_tool_regex_20251119", "is run by Anthropic's servers"),
        ("bash_20250124", "is known to Claude models only: describe it as a tool of your own"),
        ("text_editor_20250728", "is known to Claude models only"),
    ],
)
def test_a_tool_of_anthropics_own_is_refused_by_its_place_with_what_to_do(kind: str, why: str) -> None:
    """A model that believes it can search must not be told that it searched."""
    with pytest.raises(Unrepresentable, match=rf"^tools\.0: '{kind}' {why}") as refusal:
        body(asking(tool={"type": kind, "name": "x"}))

    assert (refusal.value.status, refusal.value.error_type) == (400, "invalid_request_error")


def test_servers_that_anthropic_would_call_are_refused() -> None:
    with pytest.raises(Unrepresentable, match=r"^mcp_servers: "):
        body(request(user("go"), mcp_servers=[{"type": "url", "url": "https://example.org"}]))


def test_a_deferred_tool_is_sent_once_a_result_has_loaded_it() -> None:
    """clients 1.4: ToolSearch answers with tool_reference blocks."""
    tools = [{**READ, "defer_loading": True}, {"name": "Later", "input_schema": SCHEMA, "defer_loading": True}]
    found = tool_result("a", [{"type": "tool_reference", "tool_name": "Read"}])
    asked = request(assistant(tool_use("a", "ToolSearch")), user(found), tools=tools)

    assert body(asked)["tools"] == [FUNCTION]
    assert body(asked)["messages"][1] == {"role": "tool", "tool_call_id": "a", "content": "Tool loaded: Read"}
    assert told(asked) == [
        ("messages.1.content.0.content.0", "replaced"),
        ("tools.1", "left out"),
        ("tools.0.defer_loading", "left out"),
    ]


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ({"type": "auto"}, "auto"),
        ({"type": "any"}, "required"),
        ({"type": "none"}, "none"),
        ({"type": "tool", "name": "Read"}, {"type": "function", "function": {"name": "Read"}}),
    ],
)
def test_every_choice_has_its_word(choice: Json, said: object) -> None:
    assert body(asking(choice))["tool_choice"] == said


def test_one_call_at_a_time_is_a_switch_of_its_own() -> None:
    asked = asking({"type": "auto", "disable_parallel_tool_use": True})

    assert body(asked)["parallel_tool_calls"] is False
    assert "parallel_tool_calls" not in body(asked, parallel=False)
    assert told(asked, parallel=False) == [("tool_choice.disable_parallel_tool_use", "left out")]
    assert "parallel_tool_calls" not in body(asking({"type": "auto"}))


def test_a_choice_without_tools_is_left_out() -> None:
    asked = request(user("go"), tool_choice={"type": "any"})

    assert "tool_choice" not in body(asked)
    assert told(asked) == [("tool_choice", "left out")]


def test_a_forced_tool_is_a_free_choice_for_a_backend_that_refuses_it_while_thinking() -> None:
    """dialects 2.6 and 7, case 63: Kimi. Its default is to think, so asking for nothing is thinking too."""
    forced = {"type": "any"}

    assert body(asking(forced), forced="auto", knob="thinking_type")["tool_choice"] == "auto"
    assert told(asking(forced), forced="auto") == [("tool_choice", "set")]
    off = asking(forced, thinking={"type": "disabled"})
    assert body(off, forced="auto", knob="thinking_type")["tool_choice"] == "required"


def test_a_forced_tool_may_go_first_and_turn_thinking_off() -> None:
    asked = asking({"type": "any"}, thinking={"type": "adaptive"})

    sent = body(asked, forced="thinking off", knob="thinking_type")

    assert (sent["tool_choice"], sent["thinking"]) == ("required", {"type": "disabled"})
    assert told(asked, forced="thinking off", knob="thinking_type") == [("thinking", "set")]


@pytest.mark.parametrize(
    "wire", [{"knob": ""}, {"knob": "always_on"}, {"knob": "reasoning_effort", "levels": ("low", "high")}]
)
def test_a_forced_tool_is_a_free_choice_where_thinking_cannot_be_turned_off(wire: Json) -> None:
    asked = asking({"type": "any"})

    assert body(asked, forced="thinking off", **wire)["tool_choice"] == "auto"
    assert told(asked, forced="thinking off", **wire) == [("tool_choice", "set")]
