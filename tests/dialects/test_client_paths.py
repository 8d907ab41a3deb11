"""Changes name places in the client's own request, whatever its dialect."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clew.dialects import DIALECTS
from clew.model.request import ALWAYS

CHAT: dict[str, Any] = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Go."},
        {
            "role": "assistant",
            "content": "Two.",
            "tool_calls": [
                {"id": name, "type": "function", "function": {"name": "f", "arguments": "{}"}} for name in ("a", "b")
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "tool", "tool_call_id": "b", "content": "2"},
        {"role": "user", "content": "And?"},
    ],
}
RESPONSES: dict[str, Any] = {
    "model": "m",
    "input": [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": "Go."},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA"},
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
        {"type": "function_call", "call_id": "b", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "1"},
        {"type": "function_call_output", "call_id": "b", "output": "2"},
    ],
}


@pytest.mark.parametrize(
    ("dialect", "body", "path", "own"),
    [
        ("openai-chat", CHAT, "messages.0", "messages.1"),
        ("openai-chat", CHAT, "messages.1.content.2.input", "messages.2"),
        ("openai-chat", CHAT, "messages.2.content.1", "messages.4"),
        ("openai-chat", CHAT, "messages.3.content.0", "messages.5"),
        ("openai-chat", CHAT, "messages.9.content.0", "messages.9.content.0"),
        ("openai-chat", CHAT, "temperature", "temperature"),
        ("openai-chat", CHAT, "stop_sequences.1", "stop.1"),
        ("openai-chat", CHAT, "output_config.format", "response_format"),
        ("openai-chat", CHAT, "tool_choice.disable_parallel_tool_use", "parallel_tool_calls"),
        ("openai-responses", RESPONSES, "messages.0.content.0", "input.1"),
        ("openai-responses", RESPONSES, "messages.1.content.0", "input.2"),
        ("openai-responses", RESPONSES, "messages.1.content.2", "input.4"),
        ("openai-responses", RESPONSES, "messages.2", "input.5"),
        ("openai-responses", RESPONSES, "messages.2.content.1", "input.6"),
        ("openai-responses", RESPONSES, "messages.2.content.7", "input.6"),
        ("openai-responses", RESPONSES, "max_tokens", "max_output_tokens"),
        ("openai-responses", RESPONSES, "output_config.format", "text.format"),
        ("openai-responses", RESPONSES, "output_config.effort", "reasoning.effort"),
        ("openai-responses", RESPONSES, "tool_choice.disable_parallel_tool_use", "parallel_tool_calls"),
    ],
)
def test_a_path_is_that_of_what_the_client_sent(dialect: str, body: dict[str, Any], path: str, own: str) -> None:
    front = DIALECTS[dialect]
    native = front.read_request(json.dumps(body).encode(), {}, ALWAYS).source.native

    assert native is not None
    assert front.client_path(native, path) == own
