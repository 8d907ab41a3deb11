"""How each provider is asked for thinking, as a program sees it that uses the public Translator."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clew import Translator
from tests.build import Json, user
from tests.manifest import proves, public

LOW: Json = {"output_config": {"effort": "low"}}
HIGH: Json = {"output_config": {"effort": "high"}}
BUDGET: Json = {"thinking": {"type": "enabled", "budget_tokens": 5000}}
MUCH: Json = {"thinking": {"type": "enabled", "budget_tokens": 60_000}}
OFF: Json = {"thinking": {"type": "disabled"}}


def google(**config: Any) -> Json:
    return {"extra_body": {"google": {"thinking_config": config}}}


ASKED: list[tuple[str, str, Json, Json]] = [
    ("openai", "gpt-5.6", LOW, {"reasoning_effort": "low"}),
    ("openai", "gpt-5.6", BUDGET, {"reasoning_effort": "medium"}),
    ("openai", "gpt-5.6", OFF, {"reasoning_effort": "none"}),
    ("gemini", "gemini-3-pro", LOW, google(include_thoughts=True, thinking_level="low")),
    ("gemini", "gemini-2.5-flash", BUDGET, google(include_thoughts=True, thinking_budget=5000)),
    ("gemini", "gemini-2.5-flash", MUCH, google(include_thoughts=True, thinking_budget=24_576)),
    ("gemini", "gemini-2.5-flash", OFF, google(thinking_budget=0)),
    ("qwen", "qwen3-max", BUDGET, {"enable_thinking": True, "thinking_budget": 5000}),
    ("qwen", "qwen3-max", OFF, {"enable_thinking": False}),
    ("minimax", "MiniMax-M3", HIGH, {"reasoning_split": True, "thinking": {"type": "adaptive"}}),
    ("xai", "grok-4", HIGH, {}),  # it always thinks, and takes no wish
    ("xai", "grok-3-mini", BUDGET, {"reasoning_effort": "low"}),
    ("deepseek", "deepseek-v4-pro", LOW, {"thinking": {"type": "enabled"}, "reasoning_effort": "low"}),
    ("deepseek", "deepseek-v4-pro", OFF, {"thinking": {"type": "disabled"}}),
    ("openrouter", "x-ai/grok-4", LOW, {"reasoning": {"effort": "low"}}),
    ("openrouter", "x-ai/grok-4", BUDGET, {"reasoning": {"max_tokens": 5000}}),
    ("kimi", "kimi-k3", HIGH, {"reasoning_effort": "high"}),
    ("ollama", "qwen3", OFF, {"reasoning_effort": "none"}),
]


@public("library")
@proves("req:S3-42")
@pytest.mark.parametrize(("backend", "model", "asked", "sent"), ASKED)
def test_each_provider_is_asked_for_thinking_in_its_own_words(backend: str, model: str, asked: Json, sent: Json) -> None:
    """S3-42: effort or budget, as the provider has it; where it has less, the nearest, and a change says so."""
    body = {"model": "claude-opus-5-5", "max_tokens": 64_000, "messages": [user("hi")], **asked}
    written = json.loads(Translator(backend=backend, served=model).request(body).body)
    plain = {"model", "messages", "max_tokens", "max_completion_tokens"}
    assert {name: value for name, value in written.items() if name not in plain} == sent
