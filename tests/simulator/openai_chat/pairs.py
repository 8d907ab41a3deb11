"""A request on either side of a rule: how the tables write it down, and the rules about a request by itself."""

from dataclasses import dataclass, field
from typing import Any

from tests.simulator.openai_chat.talking import TOOL, called, result, user

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


@dataclass(frozen=True)
class Pair:
    """A rule, the kind that has it, and a request from either side. `none` of a request: the field is not sent."""

    rule: str
    kind: str
    bad: dict[str, Any]
    good: dict[str, Any] = field(default_factory=dict)


def answered(call: dict[str, Any], text: str = "Sunny.") -> dict[str, Any]:
    """A history with a call and its result."""
    return {"messages": [user("Hi."), call, result(call["tool_calls"][0]["id"], text)], "tools": [TOOL]}


def said(content: Any, role: str = "user") -> dict[str, Any]:
    return {"messages": [{"role": role, "content": content}]}


def tool(**function: Any) -> dict[str, Any]:
    made = {**TOOL["function"], **function}
    return {"tools": [{"type": "function", "function": {key: value for key, value in made.items() if value is not None}}]}


def choice(value: Any) -> dict[str, Any]:
    return {"tools": [TOOL], "tool_choice": value}


TWO_CALLS = {
    "role": "assistant",
    "content": None,
    "tool_calls": [called("call_1")["tool_calls"][0], called("call_1")["tool_calls"][0]],
}
THOUGHT = {"reasoning_content": "Hm."}

SHAPES = [
    Pair("model-missing", "openai-chat", {"model": ""}),
    Pair("model-missing", "mistral", {"model": None}),
    Pair("messages-missing", "openai-chat", {"messages": None}, said("Hi.")),
    Pair("messages-empty", "openai-chat", {"messages": []}, said("Hi.")),
    Pair("field-unknown", "openai-chat", {"thinking": {"type": "enabled"}}, {"reasoning_effort": "low"}),
    Pair("field-unknown", "openai-chat", {"output_config": {"effort": "low"}}, {"verbosity": "low"}),
    Pair("field-unknown", "openai-chat", {"system": "Be brief."}, said("Be brief.", "system")),
    Pair("field-unknown", "mistral", {"max_completion_tokens": 9}, {"max_tokens": 9}),
    Pair(
        "field-unknown",
        "mistral",
        {"stream": True, "stream_options": {"include_usage": True}},
        {"stream": True, "stream_options": {}},
    ),
    Pair("field-unknown", "gemini-chat", {"store": False}, {"extra_body": {"google": {}}}),
    Pair("field-type", "openai-chat", {"stream": "yes"}, {"stream": False}),
    Pair("role-unknown", "deepseek-chat", said("Hi.", "developer"), said("Hi.", "latest_reminder")),
    Pair("role-unknown", "openai-chat", said("Hi.", "human"), said("Hi.", "developer")),
    Pair("message-field-unknown", "openai-chat", answered(called(**THOUGHT)), answered(called())),
    Pair("message-field-unknown", "mistral", answered(called("abcdefghi", **THOUGHT)), answered(called("abcdefghi"))),
    Pair(
        "message-field-unknown",
        "openai-chat",
        said([{"type": "text", "text": "Hi.", "cache_control": {"type": "ephemeral"}}]),
        said([{"type": "text", "text": "Hi."}]),
    ),
    Pair("content-missing", "openai-chat", said(None), said("")),
    Pair(
        "assistant-empty",
        "kimi-chat",
        {"messages": [user("Hi."), {"role": "assistant", "content": ""}, user("Go on.")]},
        {"messages": [user("Hi."), {"role": "assistant", "content": "Yes."}, user("Go on.")]},
    ),
    Pair(
        "part-unknown",
        "openai-chat",
        said([{"type": "tool_result", "tool_use_id": "call_1", "content": "Sunny."}]),
        said([{"type": "text", "text": "Sunny."}]),
    ),
    Pair("part-unknown", "openai-chat", said([IMAGE], "system"), said([IMAGE])),
    Pair("part-shape", "openai-chat", said([{"type": "text"}]), said([{"type": "text", "text": ""}])),
    Pair(
        "image-url",
        "openai-chat",
        said([{"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}]),
        said([{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]),
    ),
    Pair(
        "call-shape",
        "openai-chat",
        {
            "messages": [
                user("Hi."),
                {**called(), "tool_calls": [{"id": "call_1", "function": {"name": "a", "arguments": ""}}]},
            ]
        },
        answered(called()),
    ),
    Pair(
        "calls-empty",
        "openai-chat",
        {"messages": [user("Hi."), {"role": "assistant", "content": "Yes.", "tool_calls": []}]},
        {"messages": [user("Hi."), {"role": "assistant", "content": "Yes.", "tool_calls": None}]},
    ),
    Pair("arguments-not-text", "openai-chat", answered(called(arguments={})), answered(called(arguments="{}"))),
    Pair(
        "result-id-missing",
        "openai-chat",
        {"messages": [user("Hi."), called(), {"role": "tool", "content": "Sunny."}]},
        answered(called()),
    ),
    Pair(
        "tool-shape",
        "openai-chat",
        {"tools": [{"name": "look", "input_schema": {"type": "object"}}]},
        tool(name="look"),
    ),
    Pair("tool-shape", "deepseek-chat", {"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, tool()),
    Pair("tool-name", "openai-chat", tool(name="look up"), tool(name="look-up_1")),
    Pair("tool-name", "openai-chat", tool(name="x" * 65), tool(name="x" * 64)),
    Pair("tool-schema", "openai-chat", tool(parameters={"type": "string"}), tool(parameters=None)),
    Pair("tool-parameters", "minimax-chat", tool(parameters=None), tool(parameters={"type": "object", "properties": {}})),
    Pair("tool-repeated", "deepseek-chat", {"tools": [TOOL, TOOL]}, {"tools": [TOOL]}),
    Pair("model-unknown", "openai-chat", {"model": "claude-opus-5"}, {"model": "gpt-4o"}),
    Pair("model-unknown", "openrouter", {"model": "gpt-5.6"}, {"model": "openai/gpt-5.6"}),
    Pair("parameter-unsupported", "xai", {"model": "grok-4", "stop": ["x"]}, {"model": "grok-3", "stop": ["x"]}),
    Pair("parameter-unsupported", "xai", {"model": "grok-4", "presence_penalty": 0}, {"presence_penalty": None}),
    Pair(
        "parameter-unsupported",
        "xai",
        {"model": "grok-4-fast", "reasoning_effort": "low"},
        {"model": "grok-4.3", "reasoning_effort": "low"},
    ),
    Pair("parameter-unsupported", "openai-chat", {"max_tokens": 99}, {"max_completion_tokens": 99}),
    Pair(
        "parameter-unsupported",
        "kimi-chat",
        {"model": "kimi-k3", "thinking": {"type": "enabled"}},
        {"model": "kimi-k2.6", "thinking": {"type": "enabled", "keep": "all"}},
    ),
    Pair("parameter-pinned", "kimi-chat", {"temperature": 0.3}, {"temperature": 1}),
    Pair("effort-value", "xai", {"model": "grok-4.3", "reasoning_effort": "xhigh"}, {"model": "grok-4.3"}),
    Pair("effort-value", "openrouter", {"reasoning": {"effort": "ultra"}}, {"reasoning": {"effort": "max"}}),
    Pair(
        "thinking-shape",
        "deepseek-chat",
        {"thinking": {"type": "enabled", "budget_tokens": 1024}},
        {"thinking": {"type": "enabled"}},
    ),
    Pair("thinking-shape", "deepseek-chat", {"thinking": {"type": "adaptive"}}, {"thinking": {"type": "disabled"}}),
    Pair("max-tokens", "deepseek-chat", {"max_tokens": 0}, {"max_tokens": 1}),
    Pair("max-tokens", "deepseek-chat", {"max_tokens": 384001}, {"max_tokens": 384000}),
    Pair(
        "max-tokens-both",
        "openai-chat",
        {"model": "gpt-4o", "max_tokens": 9, "max_completion_tokens": 9},
        {"model": "gpt-4o", "max_tokens": 9},
    ),
    Pair("number-range", "deepseek-chat", {"temperature": 2.1}, {"temperature": 2}),
    Pair(
        "stop-count",
        "openai-chat",
        {"model": "gpt-4o", "stop": ["a", "b", "c", "d", "e"]},
        {"model": "gpt-4o", "stop": ["1a", "1b", "1c", "1d"]},
    ),
    Pair("stream-options", "openai-chat", {"stream_options": {"include_usage": True}}, {"stream": True}),
    Pair("tool-choice", "openai-chat", choice({"type": "any"}), choice("required")),
    Pair("tool-choice-without-tools", "openai-chat", {"tool_choice": "required"}, {"tool_choice": "none"}),
    Pair(
        "tool-choice-unknown",
        "openai-chat",
        choice({"type": "function", "function": {"name": "look"}}),
        choice({"type": "function", "function": {"name": "get_weather"}}),
    ),
    Pair(
        "tool-choice-thinking",
        "kimi-chat",
        {"model": "kimi-k2.6", **choice("required")},
        {"model": "kimi-k2.6", "thinking": {"type": "disabled"}, **choice("required")},
    ),
    Pair(
        "tool-choice-thinking",
        "kimi-chat",
        choice({"type": "function", "function": {"name": "get_weather"}}),
        choice("required"),
    ),
    Pair(
        "tool-choice-thinking",
        "deepseek-chat",
        choice("required"),
        {"thinking": {"type": "disabled"}, **choice("required")},
    ),
    Pair("tool-choice-thinking", "deepseek-chat", choice("required"), choice("none")),
    Pair(
        "tool-choice-thinking",
        "openrouter",
        {"model": "deepseek/deepseek-v4-pro", **choice("required")},
        {"model": "deepseek/deepseek-v4-pro", "reasoning": {"enabled": False}, **choice("required")},
    ),
]
"""What a request can be by itself: its fields, messages, tools and parameters."""
