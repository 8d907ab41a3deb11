"""Models, output, edits and tools, rule by rule (R5, R7, R12, R15, R17, R32, R49, R51, R52, R59–R61)."""

from typing import Any

import pytest

from tests.manifest import accepts, refuses
from tests.simulator.judging import (
    ABSENT,
    TOOL,
    ask,
    assistant,
    call,
    request,
    result,
    row,
    system,
    user,
)

EDITS = "context-management-2025-06-27"
TASKS = "mcp-client-2025-11-20"
FORMAT = {"format": {"type": "json_schema", "schema": {"type": "object"}}}
ANY = {"tools": [TOOL], "tool_choice": {"type": "any"}}
ADAPTIVE = {"type": "adaptive"}


def manual(budget: int = 2048) -> dict[str, Any]:
    return {"type": "enabled", "budget_tokens": budget}


def on(model: str, **changes: Any) -> dict[str, Any]:
    return {"model": model, "max_tokens": 4096, **changes}


def cited(**citations: Any) -> dict[str, Any]:
    source = {"type": "text", "media_type": "text/plain", "data": "A fact."}
    return {"messages": [user({"type": "document", "source": source, "citations": citations})], "output_config": FORMAT}


def strict(**schema: Any) -> dict[str, Any]:
    return {"tools": [{**TOOL, "strict": True, "input_schema": {"type": "object", **schema}}]}


CLOSED = {"additionalProperties": False}
CLEAR = {"type": "clear_thinking_20251015"}
TOOL_USES = {"type": "clear_tool_uses_20250919"}
SERVERS = {"mcp_servers": [{"type": "url", "name": "files", "url": "https://mcp.example"}]}
COMPUTER = {"type": "computer_20251124", "name": "computer", "display_width_px": 9, "display_height_px": 9}
ROWS = [
    row(
        "R7.over-cap",
        on("claude-sonnet-4-5-20250929", max_tokens=204_096),
        on("claude-sonnet-4-5-20250929", max_tokens=64_000),
        "max_tokens",
        "max_tokens: 204096 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4-5-20250929",
    ),
    row(
        "R7.zero-with-stream",
        {"max_tokens": 0, "stream": True},
        {"max_tokens": 0, "stream": False},
        "max_tokens",
        "max_tokens: 0 is not supported when `stream` is true",
    ),
    row(
        "R7.zero-with-manual-thinking",
        on("claude-sonnet-4-6", max_tokens=0, thinking=manual()),
        on("claude-sonnet-4-6", max_tokens=0, thinking=ADAPTIVE),
        "max_tokens",
        'max_tokens: 0 is not supported when `thinking.type` is "enabled"',
    ),
    row(
        "R7.zero-with-format",
        {"max_tokens": 0, "output_config": FORMAT},
        {"max_tokens": 1, "output_config": FORMAT},
        "max_tokens",
        "max_tokens: 0 is not supported with `output_config.format`",
    ),
    row(
        "R7.zero-with-forced-tool",
        {"max_tokens": 0, **ANY},
        {"max_tokens": 0, **ANY, "tool_choice": {"type": "auto"}},
        "max_tokens",
        "max_tokens: 0 is not supported when `tool_choice` forces tool use",
    ),
    row(
        "R12.format-with-citations",
        cited(enabled=True),
        cited(enabled=False),
        "output_config.format",
        "output_config.format: structured outputs cannot be used with citations",
    ),
    row(
        "R12.format-with-prefill",
        on("claude-sonnet-4-5", output_config=FORMAT, messages=[user("Hi."), assistant("{")]),
        on("claude-sonnet-4-5", messages=[user("Hi."), assistant("{")]),
        "output_config.format",
        "output_config.format: structured outputs cannot be used with assistant message prefill",
    ),
    row(
        "R15.stop-sequence-blank",
        {"stop_sequences": ["END", " \n"]},
        {"stop_sequences": ["END", " \n."]},
        "stop_sequences",
        "stop_sequences: each stop sequence must contain non-whitespace",
    ),
    row(
        "R17.mcp-unpaired",
        SERVERS,
        {**SERVERS, "tools": [{"type": "mcp_toolset", "mcp_server_name": "files"}]},
        "mcp_servers.0",
        "{path}: MCP server 'files' is not referenced by any mcp_toolset in tools",
        betas=(TASKS,),
    ),
    row(
        "R17.compaction-with-edits",
        {"compaction": {"type": "summarize"}, "context_management": {"edits": []}},
        {"compaction": {"type": "summarize"}, "context_management": None},
        "compaction",
        "compaction: cannot be combined with `context_management`",
        betas=("compact-2026-09-04", EDITS),
    ),
    row(
        "R49.forced-tool-unsupported",
        on("claude-opus-5-5", **ANY),
        on("claude-opus-5", **ANY),
        "tool_choice",
        'tool_choice: type "tool" and "any" are not supported for this model.',
    ),
    row(
        "R49.forced-tool-with-manual-thinking",
        on("claude-sonnet-4-5", thinking=manual(), **ANY),
        on("claude-opus-4-6", thinking=ADAPTIVE, **ANY),
        "tool_choice",
        "Thinking may not be enabled when tool_choice forces tool use.",
    ),
    row(
        "R52.thinking-required",
        {"context_management": {"edits": [CLEAR]}},
        {"context_management": {"edits": [CLEAR]}, "thinking": ADAPTIVE},
        "context_management.edits.0",
        "`clear_thinking_20251015` strategy requires `thinking` to be enabled or adaptive",
        betas=(EDITS,),
    ),
    row(
        "R51.edits-order",
        {"context_management": {"edits": [TOOL_USES, CLEAR]}, "thinking": ADAPTIVE},
        {"context_management": {"edits": [CLEAR, TOOL_USES]}, "thinking": ADAPTIVE},
        "context_management.edits.1",
        "context_management.edits: `clear_thinking_20251015` must be the first edit",
        betas=(EDITS,),
    ),
    row(
        "R60.choice-without-tools",
        {"tool_choice": {"type": "auto"}},
        {"tool_choice": {"type": "auto"}, "tools": [TOOL]},
        "tool_choice",
        "tool_choice may only be specified while providing tools.",
    ),
    row(
        "R60.choice-name-unknown",
        {"tool_choice": {"type": "tool", "name": "web_search"}, "tools": [TOOL]},
        {"tool_choice": {"type": "tool", "name": "look"}, "tools": [TOOL]},
        "tool_choice.name",
        "Tool 'web_search' not found in provided tools",
    ),
    row(
        "R59.names-not-unique",
        {"tools": [TOOL, TOOL]},
        {"tools": [TOOL, {**TOOL, "name": "see"}]},
        "tools",
        "tools: Tool names must be unique.",
    ),
    row(
        "R59.strict-open-object",
        strict(properties={"a": {"type": "object"}}, **CLOSED),
        strict(properties={"a": {"type": "object", **CLOSED}}, **CLOSED),
        "tools.0.custom",
        "{path}: For 'object' type, 'additionalProperties' must be explicitly set to false",
    ),
    row(
        "R59.all-deferred",
        {"tools": [{**TOOL, "defer_loading": True}]},
        {"tools": [{**TOOL, "defer_loading": True}, {**TOOL, "name": "see"}]},
        "tools",
        "All tools have defer_loading set",
    ),
    row(
        "R61.tool-types-unsupported",
        on("claude-opus-5-5", tools=[TOOL, COMPUTER]),
        on("claude-opus-5", tools=[TOOL, COMPUTER]),
        "tools",
        "'claude-opus-5-5' does not support tool types: computer_20251124.",
    ),
    row(
        "R32.role-unsupported",
        on("claude-opus-4-7", messages=[user("Hi."), system("Be brief.")]),
        on("claude-opus-4-8", messages=[user("Hi."), system("Be brief.")]),
        "messages.1.role",
        "role 'system' is not supported on this model",
    ),
    row("R5.model-unknown", {"model": "claude-opus-9"}, {}, "model", "model: claude-opus-9"),
    row("R5.model-retired", {"model": "claude-opus-4-1-20250805"}, {}, "model", "model: claude-opus-4-1-20250805"),
]


@refuses("rule:R5.model-unknown", "rule:R5.model-retired")
@pytest.mark.parametrize("model", ["claude-opus-9", "claude-3-7-sonnet-20250219", "gpt-5"])
def test_a_model_that_is_not_served_is_a_404(model: str) -> None:
    """R5: not_found_error, whatever else is wrong with its parameters."""
    violation = ask(request(model=model, stop_sequences=[""])).violation
    assert violation is not None
    assert (violation.status, violation.error_type, violation.message) == (404, "not_found_error", f"model: {model}")


@refuses("rule:R49.forced-tool-unsupported")
def test_counting_tokens_checks_forced_tools_too() -> None:
    """R49, R74: the same validation on count_tokens."""
    body = request(**on("claude-opus-5-5", max_tokens=ABSENT, **ANY))
    verdict = ask(body, path="/v1/messages/count_tokens")
    assert verdict.violation is not None
    assert verdict.violation.rule == "R49.forced-tool-unsupported"


@accepts("rule:R60.choice-name-unknown")
def test_a_forced_tool_that_is_there_passes_with_a_whole_tool_loop() -> None:
    """R49, R60: Opus 5 takes forced tools."""
    messages = [user("Hi."), assistant(call()), user(result())]
    choice = {"type": "tool", "name": "look", "disable_parallel_tool_use": True}
    assert ask(request(**on("claude-opus-5", messages=messages, tools=[TOOL], tool_choice=choice))).violation is None


@accepts("rule:R12.format-with-prefill")
def test_a_format_is_legal_on_a_model_with_prefill_that_is_not_prefilled() -> None:
    """R12: only both together are refused."""
    assert ask(request(model="claude-sonnet-4-5", output_config=FORMAT)).violation is None


@refuses("rule:R12.format-with-citations")
def test_citations_inside_a_tool_result_count_too() -> None:
    """R12: anywhere in messages."""
    cites = {"type": "search_result", "content": [], "source": "s", "title": "t", "citations": {"enabled": True}}
    messages = [user("Hi."), assistant(call()), user(result(content=[cites]))]
    violation = ask(request(messages=messages, tools=[TOOL], output_config=FORMAT)).violation
    assert violation is not None
    assert violation.rule == "R12.format-with-citations"
