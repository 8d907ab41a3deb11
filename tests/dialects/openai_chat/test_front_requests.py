"""Requests of clients that speak Chat Completions, as canonical requests."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from clew.dialects.openai_chat.detail import chat_detail
from clew.dialects.openai_chat.options import ChatOptions
from clew.dialects.openai_chat.requests import read_request, write_request
from clew.errors import BodyTooLarge, RequestInvalid
from clew.model.request import NativeRequest
from tests.manifest import proves

Json = dict[str, Any]
USER: Json = {"role": "user", "content": "Hi"}
FUNCTION: Json = {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {"q": {"type": "string"}}}}
TOOL: Json = {"type": "function", "function": FUNCTION}


def read(*messages: Json, **fields: Any) -> Json:
    raw = json.dumps({"model": "m", "messages": list(messages) or [USER], **fields}).encode()
    return json.loads(read_request(raw, {}).source.raw)


def read_native(given: Json) -> NativeRequest | None:
    return read_request(json.dumps(given).encode(), {}).source.native


def messages(*given: Json) -> list[Json]:
    return read(*given)["messages"]


def refused(raw: bytes | Json) -> str:
    """The path of what was refused."""
    with pytest.raises(RequestInvalid) as caught:
        read_request(raw if isinstance(raw, bytes) else json.dumps(raw).encode(), {})
    assert caught.value.path in str(caught.value)
    return caught.value.path


def test_a_plain_request() -> None:
    assert read(max_tokens=5, temperature=0.5, top_p=1, stream=True, user="u") == {
        "model": "m",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
        "max_tokens": 5,
        "temperature": 0.5,
        "top_p": 1,
        "stream": True,
        "metadata": {"user_id": "u"},
    }


def test_leading_system_messages_are_the_prompt_and_later_ones_stay_in_place() -> None:
    found = read(
        {"role": "system", "content": "a"},
        {"role": "developer", "content": [{"type": "text", "text": "b"}]},
        USER,
        {"role": "developer", "content": "c"},
    )
    assert found["system"] == [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert found["messages"][1] == {"role": "system", "content": [{"type": "text", "text": "c"}]}


def test_images_and_files_come_with_their_data() -> None:
    parts = [
        {"type": "text", "text": "see", "cache_control": {"type": "ephemeral"}},
        {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,AAAA", "detail": "low"}},
        {"type": "image_url", "image_url": {"url": "https://x.example/a.png"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,BBBB"}},
    ]
    assert messages({"role": "user", "content": parts})[0]["content"] == [
        {"type": "text", "text": "see", "cache_control": {"type": "ephemeral"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "AAAA"}},
        {"type": "image", "source": {"type": "url", "url": "https://x.example/a.png"}},
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": "BBBB"},
            "title": "a.pdf",
        },
    ]


def test_a_tool_that_is_offered_twice_is_one_and_ids_are_made_legal() -> None:
    """OpenAI takes both, and so did what called before; Claude refuses either."""
    tool = {"type": "function", "function": {"name": "f"}}
    found = read(tools=[tool, tool])
    assert [each["name"] for each in found["tools"]] == ["f"]
    result = {"role": "tool", "tool_call_id": "functions.f:0", "content": "x"}
    _, said, results = messages(USER, {"role": "assistant", "tool_calls": [call("functions.f:0", "{}")]}, result)
    assert said["content"][0]["id"] == results["content"][0]["tool_use_id"]
    assert said["content"][0]["id"].startswith("functions_f_0_")


def call(call_id: str, arguments: str, **more: Any) -> Json:
    return {"id": call_id, "type": "function", "function": {"name": "f", "arguments": arguments}, **more}


def test_calls_and_their_results() -> None:
    """Parallel calls; tool messages in a row are one user message; numbers stay as they are written."""
    found = messages(
        USER,
        {"role": "assistant", "content": None, "tool_calls": [call("a", '{"q":1.0}', index=0), call("b", "")]},
        {"role": "tool", "tool_call_id": "a", "content": "one"},
        {"role": "tool", "tool_call_id": "b", "content": [{"type": "text", "text": "two"}], "name": "f"},
        {"role": "user", "content": "go on"},
    )
    assert found[1]["content"] == [
        {"type": "tool_use", "id": "a", "name": "f", "input": {"q": 1.0}},
        {"type": "tool_use", "id": "b", "name": "f", "input": {}},
    ]
    assert found[2] == {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "one"}]},
            {"type": "tool_result", "tool_use_id": "b", "content": [{"type": "text", "text": "two"}]},
        ],
    }
    assert [each["role"] for each in found] == ["user", "assistant", "user", "user"]


def test_arguments_that_are_no_object_are_passed_on_whole() -> None:
    (block,) = messages({"role": "assistant", "tool_calls": [call("a", '{"q":')]})[0]["content"]
    assert block["input"] == {"arguments": '{"q":'}


def test_legacy_functions() -> None:
    found = read(
        USER,
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "one"},
        functions=[FUNCTION],
        function_call={"name": "f"},
    )
    assert found["tools"][0]["name"] == "f"
    assert found["tool_choice"] == {"type": "tool", "name": "f", "disable_parallel_tool_use": True}
    use, result = found["messages"][1]["content"][0], found["messages"][2]["content"][0]
    assert use["id"] == result["tool_use_id"] == "call_1"


@pytest.mark.parametrize(
    ("given", "blocks"),
    [
        ({}, []),
        ({"reasoning_content": "r"}, [{"type": "thinking", "thinking": "r", "signature": ""}]),
        ({"reasoning": "r"}, [{"type": "thinking", "thinking": "r", "signature": ""}]),
        ({"reasoning_details": "joined"}, [{"type": "thinking", "thinking": "joined", "signature": ""}]),
        (
            {
                "reasoning_content": "r",
                "reasoning_details": [
                    {"type": "reasoning.text", "index": 0, "text": "r", "signature": "clew1.S"},
                    {"type": "reasoning.encrypted", "index": 1, "data": "D"},
                ],
            },
            [
                {"type": "thinking", "thinking": "r", "signature": "clew1.S"},
                {"type": "redacted_thinking", "data": "D"},
            ],
        ),
    ],
)
def test_thoughts_come_back_by_what_the_client_kept(given: Json, blocks: list[Json]) -> None:
    content = messages({"role": "assistant", "content": "x", **given})[0]["content"]
    assert content == [*blocks, {"type": "text", "text": "x"}]


def test_a_message_that_the_official_client_dumped_is_taken() -> None:
    dumped = {"role": "assistant", "content": "x", "refusal": None, "annotations": [], "audio": None, "function_call": None}
    assert messages({**dumped, "tool_calls": None, "parsed": None})[0]["content"] == [{"type": "text", "text": "x"}]


@pytest.mark.parametrize(
    ("given", "choice"),
    [
        ({}, None),
        ({"tool_choice": "auto"}, {"type": "auto"}),
        ({"tool_choice": "none", "parallel_tool_calls": False}, {"type": "none"}),
        ({"tool_choice": "required"}, {"type": "any"}),
        ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, {"type": "tool", "name": "f"}),
        ({"parallel_tool_calls": False}, {"type": "auto", "disable_parallel_tool_use": True}),
        ({"tool_choice": "required", "parallel_tool_calls": False}, {"type": "any", "disable_parallel_tool_use": True}),
    ],
)
def test_the_choice_among_tools(given: Json, choice: Json | None) -> None:
    found = read(tools=[TOOL], **given)
    assert found["tools"] == [{"name": "f", "description": "d", "input_schema": FUNCTION["parameters"]}]
    assert found.get("tool_choice") == choice


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"max_completion_tokens": 7, "max_tokens": 5}, {"max_tokens": 7}),
        ({"stop": "END"}, {"stop_sequences": ["END"]}),
        ({"stop": ["a", "b"]}, {"stop_sequences": ["a", "b"]}),
        ({"temperature": 1.5}, {"temperature": 1}),
        ({"n": 1, "stop": None, "tools": []}, {}),
        ({"reasoning_effort": "none"}, {"thinking": {"type": "disabled"}}),
        ({"reasoning_effort": "high"}, {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}),
        ({"reasoning": {"effort": "low"}}, {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}),
        ({"reasoning": {"max_tokens": 2000}}, {"thinking": {"type": "enabled", "budget_tokens": 2000}}),
        ({"response_format": {"type": "text"}}, {}),
        (
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "a", "strict": True, "schema": {"type": "object"}},
                }
            },
            {"output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}}},
        ),
        ({"response_format": {"type": "json_object"}}, {}),
    ],
)
def test_parameters(given: Json, expected: Json) -> None:
    found = read(**given)
    assert {name: value for name, value in found.items() if name not in ("model", "messages")} == expected


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"n": 2}, "n"),
        ({"messages": None}, "messages"),
        ({"messages": [{"role": "critic", "content": "x"}]}, "messages.0.role"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages.0"),
        ({"messages": [{"role": "function", "content": "x"}]}, "messages.0"),
        ({"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]}, "messages.0.content.0"),
        (
            {"messages": [{"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}]}]},
            "messages.0.content.0.file",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "file:///x"}}]}]},
            "messages.0.content.0.image_url.url",
        ),
        ({"messages": [{"role": "system", "content": [{"type": "image_url"}]}]}, "messages.0.content.0"),
        (
            {"messages": [{"role": "assistant", "tool_calls": [{"id": "a", "type": "mcp"}]}]},
            "messages.0.tool_calls.0.type",
        ),
        (
            {"messages": [{"role": "assistant", "tool_calls": [{"id": "a", "type": "custom"}]}]},
            "messages.0.tool_calls.0.custom.name",
        ),
        ({"messages": [{"role": "assistant", "tool_calls": [{"type": "function"}]}]}, "messages.0.tool_calls.0.id"),
        ({"tools": [{"type": "web_search"}]}, "tools.0.type"),
        ({"tools": [{"type": "custom", "custom": {}}]}, "tools.0.custom.name"),
        ({"tools": [{"type": "function", "function": {}}]}, "tools.0.function.name"),
        ({"tools": [TOOL], "tool_choice": "maybe"}, "tool_choice"),
        (
            {"tools": [TOOL], "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "some"}}},
            "tool_choice.allowed_tools.mode",
        ),
        ({"response_format": {"type": "xml"}}, "response_format.type"),
        ({"temperature": "hot"}, "temperature"),
        ({"stop": [1]}, "stop.0"),
    ],
)
def test_what_cannot_be_said_is_refused_with_its_path(given: Json, path: str) -> None:
    assert refused({"model": "m", "messages": [USER], **given}) == path


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"nul", b'{"messages": "x"}', b"\xff", b'{"messages":[1]}', b"[" * 5000])
def test_broken_bodies_are_refused_and_never_a_traceback(raw: bytes) -> None:
    with pytest.raises((RequestInvalid, BodyTooLarge)):
        read_request(raw, {})


def changed(*messages: Json, **fields: Any) -> list[tuple[str, str]]:
    """What the canonical request does not hold as it came."""
    native = read_native({"model": "m", "messages": list(messages) or [USER], **fields})
    assert native is not None
    return [(change.path, change.what) for change in native.changes]


def test_what_is_not_read_is_named() -> None:
    assert changed({**USER, "name": "ann"}, seed=1, logprobs=True, temperature=2, store=None) == [
        ("seed", "left out"),
        ("logprobs", "left out"),
        ("messages.0.name", "left out"),
        ("temperature", "set"),
    ]


IMAGE: Json = {"type": "image_url", "image_url": {"url": "https://x.test/a.png", "detail": "high"}}
FILE: Json = {"type": "file", "file": {"file_data": "data:application/pdf;base64,AA==", "filename": "a.pdf", "file_id": "f"}}
FORMAT: Json = {"type": "json_schema", "json_schema": {"name": "n", "description": "d", "strict": True, "schema": {}}}


@pytest.mark.parametrize(
    ("given", "changes"),
    [
        (
            {"messages": [{"role": "user", "content": [IMAGE, IMAGE]}]},
            [("messages.0.content.0.image_url.detail", "left out")],
        ),
        ({"messages": [{"role": "user", "content": [FILE]}]}, [("messages.0.content.0.file.file_id", "left out")]),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "x", "color": "red"}]}]},
            [("messages.0.content.0.color", "left out")],
        ),
        (
            {"response_format": FORMAT},
            [("response_format.json_schema.name", "left out"), ("response_format.json_schema.description", "left out")],
        ),
        ({"response_format": {"type": "json_object"}}, [("response_format", "left out")]),
        ({"reasoning": {"effort": "low", "mode": "x"}}, [("reasoning.mode", "left out")]),
        (
            {"stream_options": {"include_usage": True, "include_obfuscation": True}},
            [("stream_options.include_obfuscation", "left out")],
        ),
        (
            {"tools": [{"type": "function", "function": {**FUNCTION, "examples": [1]}}]},
            [("tools.0.function.examples", "left out")],
        ),
        (
            {"tools": [{"type": "custom", "custom": {"name": "c", "format": {"type": "grammar"}}}]},
            [("tools.0.custom.format", "left out")],
        ),
        (
            {"tools": [TOOL], "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": []}}},
            [("tool_choice", "replaced")],
        ),
        ({"messages": [{"role": "assistant", "content": "x", "audio": {"id": "a"}}]}, [("messages.0.audio", "left out")]),
        (
            {
                "messages": [
                    {"role": "user", "content": [{"type": "image_url", "image_url": {**IMAGE["image_url"], "x": 1}}]}
                ]
            },
            [("messages.0.content.0.image_url.x", "left out"), ("messages.0.content.0.image_url.detail", "left out")],
        ),
        (
            {"messages": [{"role": "assistant", "tool_calls": [call("a", "{}", color="red")]}]},
            [("messages.0.tool_calls.0.color", "left out")],
        ),
        (
            {"messages": [{"role": "assistant", "function_call": {"name": "f", "arguments": "{}", "color": "red"}}]},
            [("messages.0.function_call.color", "left out")],
        ),
        ({"tools": [{**TOOL, "color": "red"}]}, [("tools.0.color", "left out")]),
        ({"tool_choice": "required"}, [("tool_choice", "left out")]),
        ({"tool_choice": "auto", "parallel_tool_calls": False}, []),
        ({"max_tokens": 5, "max_completion_tokens": 7}, [("max_tokens", "left out")]),
        ({"max_tokens": 7, "max_completion_tokens": 7}, []),
        ({"user": "a", "safety_identifier": "b"}, [("safety_identifier", "left out")]),
        ({"store": False, "metadata": {}, "logprobs": False, "stop": None}, []),
    ],
)
def test_nothing_is_left_out_silently(given: Json, changes: list[tuple[str, str]]) -> None:
    """Law 6. What says no more than its absence would is no loss."""
    assert changed(*given.pop("messages", [USER]), **given) == changes


@proves("case:125")
def test_a_message_dumped_by_the_python_sdk_is_read_without_a_change() -> None:
    """Case 125."""
    call = {"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    dumped = {"role": "assistant", "content": None, "refusal": None, "annotations": [], "audio": None, "tool_calls": [call]}
    dumped |= {"function_call": None, "parsed": {"x": 1}, "reasoning_content": None}
    assert changed(USER, dumped, {"role": "tool", "tool_call_id": "a", "content": "ok"}) == []


def test_a_custom_tool_takes_its_text_as_input() -> None:
    call = {"id": "a", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}}
    found = read(
        USER,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "ok"},
        tools=[{"type": "custom", "custom": {"name": "patch", "description": "d"}}],
        tool_choice={"type": "custom", "custom": {"name": "patch"}},
    )
    schema = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
    assert found["tools"] == [{"name": "patch", "description": "d", "input_schema": schema}]
    assert found["tool_choice"] == {"type": "tool", "name": "patch"}
    assert found["messages"][1]["content"] == [
        {"type": "tool_use", "id": "a", "name": "patch", "input": {"input": "*** Begin"}}
    ]


@pytest.mark.parametrize(
    ("given", "thinking", "effort"),
    [
        ({"reasoning_effort": "high"}, {"type": "adaptive"}, "high"),
        ({"reasoning_effort": "none"}, {"type": "disabled"}, None),
        ({"reasoning": {"effort": "low", "summary": "auto"}}, {"type": "adaptive", "display": "summarized"}, "low"),
        ({"reasoning": {"exclude": True}}, {"type": "adaptive", "display": "omitted"}, None),
        ({"reasoning": {"max_tokens": 2000}}, {"type": "enabled", "budget_tokens": 2000}, None),
        ({"thinking": {"type": "enabled", "budget_tokens": 3000}}, {"budget_tokens": 3000, "type": "enabled"}, None),
        ({"thinking": {"type": "enabled"}, "reasoning_effort": "low"}, {"type": "adaptive"}, "low"),
        ({"thinking": {"type": "disabled"}}, {"type": "disabled"}, None),
    ],
)
def test_a_wish_about_reasoning(given: Json, thinking: Json, effort: str | None) -> None:
    found = read(**given)
    assert (found["thinking"], found.get("output_config", {}).get("effort")) == (thinking, effort)


def test_to_a_backend_of_the_same_dialect_fields_without_a_canonical_form_pass() -> None:
    raw = {"model": "m", "messages": [{**USER, "name": "ann"}], "seed": 7, "verbosity": "low", "logprobs": True}
    raw["response_format"] = {"type": "json_object"}
    written = write_request(read_request(json.dumps(raw).encode(), {}), ChatOptions())
    sent = json.loads(written.body)
    assert (sent["seed"], sent["verbosity"], "logprobs" in sent) == (7, "low", False)
    assert sent["response_format"] == {"type": "json_object"}
    assert [change.path for change in written.changes] == ["logprobs", "messages.0.name"]


def test_a_schema_keeps_its_names_at_a_backend_of_this_dialect() -> None:
    closed = {"type": "object", "properties": {}, "additionalProperties": False}
    named = {"name": "n", "description": "d", "schema": closed, "strict": True}
    raw = {"model": "m", "messages": [USER], "response_format": {"type": "json_schema", "json_schema": named}}
    written = write_request(read_request(json.dumps(raw).encode(), {}), ChatOptions())
    assert json.loads(written.body)["response_format"] == raw["response_format"]
    assert written.changes == ()


def test_usage_is_wanted_only_if_asked_for() -> None:
    asked = {"model": "m", "messages": [USER]}
    assert not chat_detail(read_native(asked)).include_usage
    assert chat_detail(read_native({**asked, "stream_options": {"include_usage": True}})).include_usage


def test_a_request_that_goes_on_extends_the_canonical_one() -> None:
    """Law 3: the messages of a longer request begin with those of the shorter one."""
    talk: list[Json] = [USER, {"role": "assistant", "content": "a"}, USER, {"role": "system", "content": "s"}, USER]
    lists = [messages(*talk[:count]) for count in range(1, len(talk) + 1)]
    for shorter, longer in pairwise(lists):
        assert longer[: len(shorter)] == shorter


def test_a_request_goes_through_both_roles_as_it_came() -> None:
    """What a client says in this dialect, a backend of this dialect is asked in the same words."""
    talk: list[Json] = [
        {"role": "system", "content": "be brief"},
        USER,
        {"role": "assistant", "content": "I call.", "tool_calls": [call("a", '{"q":1}')]},
        {"role": "tool", "tool_call_id": "a", "content": "one"},
        {"role": "user", "content": "go on"},
    ]
    raw: Json = {"model": "m", "messages": talk, "tools": [TOOL], "tool_choice": "required", "max_tokens": 9, "stop": ["E"]}
    written = write_request(read_request(json.dumps(raw).encode(), {}), ChatOptions())
    assert json.loads(written.body) == raw
    assert written.changes == ()
