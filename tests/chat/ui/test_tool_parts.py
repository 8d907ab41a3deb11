"""Calls and results in the format of document 004, beside the AI SDK's: read alike, and refused where they cannot be read."""

from __future__ import annotations

from typing import Any

import pytest

from clew import api_messages, ui_asked
from clew.chat.ui.tool_parts import outputs_of
from clew.errors import RequestInvalid
from tests.manifest import proves, public


def said(role: str, *parts: Any) -> Any:
    return {
        "id": "m",
        "role": role,
        "parts": [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts],
    }


def call(id: str, **more: Any) -> Any:
    return {"type": "tool-call", "toolCallId": id, "toolName": "look", "args": {"n": id}, **more}


def result(id: str, output: Any = "found", **more: Any) -> Any:
    return {"type": "tool-result", "toolCallId": id, "toolName": "look", "result": output, **more}


def shape(messages: list[Any]) -> list[Any]:
    return [
        (each["role"], [block.get("text") or block.get("id") or block["tool_use_id"] for block in each["content"]])
        for each in messages
    ]


@public("library")
@proves("req:S4-14", "req:S4-15", "req:S4-17", "req:S4-18")
@pytest.mark.parametrize(
    ("parts", "sent"),
    [
        (["a", call("1"), result("1"), "b"], [("assistant", ["a", "1"]), ("user", ["1"]), ("assistant", ["b"])]),
        ([call("1"), "between", result("1")], [("assistant", ["1", "between"]), ("user", ["1"])]),
        ([result("1"), "b"], [("user", ["1"]), ("assistant", ["b"])]),
        ([result("1")], [("user", ["1"])]),
        (
            [call("1"), result("1"), "then", call("2"), result("2")],
            [("assistant", ["1"]), ("user", ["1"]), ("assistant", ["then"]), ("assistant", ["2"]), ("user", ["2"])],
        ),
    ],
    ids=["three-messages", "between", "results-first", "results-only", "five-messages"],
)
def test_calls_and_results_in_one_message_are_split_where_their_order_shows_it(parts: list[Any], sent: list[Any]) -> None:
    """S4-14, S4-15, S4-17, S4-18."""
    assert shape(api_messages([said("assistant", *parts)])) == sent


@pytest.mark.parametrize("role", ["user", "tool"])
def test_a_result_in_a_message_of_the_user_or_of_a_tool_is_a_result(role: str) -> None:
    [message] = api_messages([said(role, result("1", {"data": "…"}))])
    assert message == {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "1", "content": '{"data": "…"}'}],
    }


@pytest.mark.parametrize(
    ("part", "output", "failed"),
    [
        (result("1", "fine"), "fine", False),
        ({"type": "tool-result", "toolCallId": "1", "output": 3}, "3", False),
        ({"type": "tool-result", "toolCallId": "1", "output": {"type": "text", "value": "fine"}}, "fine", False),
        ({"type": "tool-result", "toolCallId": "1", "output": {"type": "json", "value": {"n": 1}}}, '{"n": 1}', False),
        ({"type": "tool-result", "toolCallId": "1", "output": {"type": "error-text", "value": "no"}}, "no", True),
        (
            {"type": "tool-result", "toolCallId": "1", "output": {"type": "execution-denied", "reason": "never"}},
            "The user did not allow this call. never",
            True,
        ),
        (result("1", "no", isError=True), "no", True),
        (result("1", {"code": 7}, isError=True), '{"code": 7}', True),
        ({"type": "tool_result", "tool_use_id": "1", "content": "fine"}, "fine", False),
        ({"type": "tool_result", "tool_use_id": "1", "content": "no", "is_error": True}, "no", True),
    ],
)
def test_an_output_is_read_from_the_field_that_has_it(part: Any, output: str, failed: bool) -> None:
    [message] = api_messages([said("user", part)])
    [block] = message["content"]
    assert (block["content"], block.get("is_error", False)) == (output, failed)
    assert list(outputs_of(said("user", part))) == ["1"]


@pytest.mark.parametrize(
    "part",
    [
        call("1"),
        {"type": "tool-call", "toolCallId": "1", "toolName": "look", "input": {"n": "1"}},
        {"type": "tool-call", "toolCallId": "1", "toolName": "look", "args": '{"n": "1"}'},
        {"type": "tool_use", "id": "1", "name": "look", "input": {"n": "1"}},
        {"type": "tool-look", "toolCallId": "1", "state": "input-available", "input": {"n": "1"}},
    ],
)
def test_a_call_is_read_from_the_fields_that_have_it(part: Any) -> None:
    [message] = api_messages([said("assistant", part)])
    assert message["content"] == [{"type": "tool_use", "id": "1", "name": "look", "input": {"n": "1"}}]


@pytest.mark.parametrize("name", ["call", "result"])
def test_a_tool_of_the_sdk_may_be_named_like_a_part(name: str) -> None:
    """Such a part has a state, and no `toolName`."""
    part = {"type": f"tool-{name}", "toolCallId": "1", "state": "output-available", "input": {}, "output": "fine"}
    asked, answered = api_messages([said("assistant", part)])
    assert asked["content"] == [{"type": "tool_use", "id": "1", "name": name, "input": {}}]
    assert answered["content"] == [{"type": "tool_result", "tool_use_id": "1", "content": "fine"}]


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (said("user", call("1")), "a user message has a tool call"),
        (said("user", {"type": "reasoning", "text": "Hm.", "signature": "c2ln"}), "a user message has reasoning"),
        (said("assistant", {"type": "tool-call", "toolName": "look"}), "'tool-call' needs a `toolCallId`"),
        (said("user", {"type": "tool-result", "result": 1}), "'tool-result' needs a `toolCallId`"),
        (said("assistant", call("1", args="{")), "the input of the tool call '1' is not JSON"),
        (said("narrator", "Once."), "the role 'narrator'"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(message: Any, words: str) -> None:
    with pytest.raises(RequestInvalid, match=words):
        api_messages([message])


def test_an_app_takes_results_as_what_the_user_says() -> None:
    """`ui_asked`, for an app that serves its own chat."""
    asked = ui_asked({"messages": [said("user", "Look."), said("assistant", call("1")), said("tool", result("1"))]})
    assert asked.content == [{"type": "tool_result", "tool_use_id": "1", "content": "found"}]
