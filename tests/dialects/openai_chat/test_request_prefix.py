"""Whole requests: those of real clients, and conversations that go on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.dialects.openai_chat.options import ChatOptions, ChatRequestOptions
from clew.dialects.openai_chat.requests import write_request
from clew.errors import Unrepresentable
from clew.wire.requests import parse
from tests.build import Json, assistant, raw, redacted, system, text, thinking, tool_result, tool_use, user
from tests.counts import examples
from tests.dialects.openai_chat.encoding import body, told

CAPTURES = Path(__file__).parents[2] / "fixtures" / "captures"
SEARCH = "cc_websearch_nested.json"
PNG: Json = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}}

FIELDS = {"model", "messages", "tools", "tool_choice", "max_tokens", "temperature", "stop", "response_format", "user"} | {
    "stream",
    "stream_options",
    "thinking",
    "reasoning_effort",
}
"""What a request to DeepSeek may hold."""


def capture(name: str) -> Any:
    return parse(json.dumps(json.loads((CAPTURES / name).read_text())["body"]).encode())


@pytest.mark.parametrize("name", sorted(path.name for path in CAPTURES.glob("*.json") if path.name != SEARCH))
def test_what_real_clients_send_holds_nothing_that_the_backend_does_not_know(name: str) -> None:
    """clients 1: bodies captured from Claude Code, the SDKs, the AI SDK and opencode."""
    sent = body(capture(name), knob="deepseek", missing="empty")

    assert set(sent) <= FIELDS
    assert {each["role"] for each in sent["messages"]} <= {"system", "user", "assistant", "tool"}
    for word in ("cache_control", "signature", "x-anthropic-billing-header", "defer_loading", "redacted_thinking"):
        assert f'"{word}' not in json.dumps(sent)


def test_the_nested_web_search_of_claude_code_is_refused_plainly() -> None:
    with pytest.raises(Unrepresentable, match=r"^tools\.0: 'web_search_20250305' is run by Anthropic's servers, .*leave"):
        body(capture(SEARCH))


def test_a_tool_loop_of_claude_code_goes_out_whole() -> None:
    """clients 1.5: thinking comes back with the calls."""
    sent = body(capture("cc_image_tool_result.json"), knob="deepseek")

    answer, result, pictures = sent["messages"][3:]
    assert answer == {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "toolu_4cbbebf2b7754f2387e3e6",
                "type": "function",
                "function": {"name": "Read", "arguments": '{"file_path":"<cwd>/pic.png"}'},
            }
        ],
        "reasoning_content": "Look.",
    }
    assert result["content"] == "[Image 1 of this result follows in the next message.]"
    assert [part["type"] for part in pictures["content"]] == ["text", "image_url"]


def test_all_that_becomes_of_a_request_of_claude_code_is_told() -> None:
    """clients 1.3 and 1.4: an unknown model name gets every new feature."""
    assert told(capture("cc_custom_model_qwen.json"), knob="qwen") == [
        ("context_management", "left out"),
        ("system.0", "left out"),
        ("system.1.cache_control", "left out"),
        ("tools.10", "left out"),
        ("thinking.display", "left out"),
        ("metadata.user_id", "replaced"),
    ]


words = st.text(max_size=8)
ids = st.sampled_from(["toolu_1", "toolu_2", "call_3"])
spoken = st.builds(text, words)
results = st.builds(tool_result, ids, st.one_of(words, st.lists(st.one_of(spoken, st.just(PNG)), max_size=2)))
answers = st.one_of(spoken, st.builds(thinking, words), st.builds(redacted, words), st.builds(tool_use, ids))
turns = st.one_of(
    st.builds(system, words),
    st.builds(user, words),
    st.lists(st.one_of(spoken, results, st.just(PNG)), max_size=3).map(lambda blocks: user(*blocks)),
    st.lists(answers, max_size=3).map(lambda blocks: assistant(*blocks)),
)
wires = st.builds(
    ChatRequestOptions,
    missing=st.sampled_from(["nothing", "empty", "space", "off"]),
    missing_on=st.sampled_from(["calls", "all"]),
    reasoning=st.sampled_from(["", "reasoning", "reasoning_content"]),
    reasoning_text=st.booleans(),
    late_system=st.sampled_from(["system", "user"]),
    wordless=st.sampled_from(["", "…"]),
    apart=st.frozensets(st.sampled_from(["tool user", "user user", "assistant assistant"])),
    tool_images=st.booleans(),
    images=st.sampled_from(["take", "omit"]),
    call_ids=st.sampled_from(["kept", "nine"]),
)


def sent(said: list[Json], wire: ChatRequestOptions) -> list[Json]:
    return json.loads(write_request(parse(raw(*said, system="be brief")), ChatOptions(wire)).body)["messages"]


@settings(max_examples=examples(24, soak=2000), deadline=None)
@given(st.lists(turns, max_size=5), st.lists(turns, max_size=3), wires)
def test_a_conversation_that_goes_on_is_a_list_that_goes_on(
    before: list[Json], after: list[Json], wire: ChatRequestOptions
) -> None:
    """What a message becomes depends on it alone, so the backend's prefix cache holds."""
    first, second = sent(before, wire), sent(before + after, wire)

    assert second[: len(first)] == first


@settings(max_examples=examples(24, soak=2000), deadline=None)
@given(st.lists(turns, max_size=5), wires)
def test_the_same_request_is_the_same_bytes_and_the_same_changes(said: list[Json], wire: ChatRequestOptions) -> None:
    once, again = (write_request(parse(raw(*said)), ChatOptions(wire)) for _ in range(2))

    assert once == again


@settings(max_examples=examples(24, soak=2000), deadline=None)
@given(st.lists(turns, max_size=5), wires)
def test_no_thought_is_ever_text(said: list[Json], wire: ChatRequestOptions) -> None:
    marked = [_marked(each) for each in said]

    for message in sent(marked, wire):
        assert "THOUGHT" not in json.dumps([message["content"], message.get("tool_calls")])


def _marked(message: Json) -> Json:
    """The same message, with thoughts that are told from everything else."""
    if isinstance(message["content"], str):
        return message
    return {
        **message,
        "content": [{**each, "thinking": "THOUGHT"} if each["type"] == "thinking" else each for each in message["content"]],
    }
