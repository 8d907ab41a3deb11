"""Fields of the request: missing, of the wrong kind, unknown, gated (R2–R4, R9–R13, R51–R54, R58, R60)."""

from typing import Any

from tests.build import Json, text, user
from tests.conversations.asked import NEWER, OLD, SONNET_5_5, ask
from tests.conversations.rulebook.case import Case, case

CONTEXT = ("context-management-2025-06-27",)
COMPACT = ("compact-2026-01-12",)
BINDING = ("thinking-binding-controls-2026-08-01",)
UPDATES = ("thinking-display-updates-2026-08-18",)


def thought(kind: str = "adaptive", **more: Any) -> Json:
    return {"type": kind, **more}


def edits(*each: Json) -> Json:
    return {"edits": list(each)}


def keep(value: int) -> Json:
    return edits({"type": "clear_thinking_20251015", "keep": {"type": "thinking_turns", "value": value}})


def compact(value: int) -> Json:
    return edits({"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": value}})


REQUIRED = (
    case("R4.model-required", "model", good=ask(), bad=ask(model=...)),
    case("R4.messages-required", "messages", good=ask(), bad=ask(messages=...)),
    case("R4.max-tokens-required", "max_tokens", good=ask(counting=True), bad=ask(max_tokens=...)),
    case(
        "R4.field-required",
        "thinking.enabled.budget_tokens",
        good=ask(model=OLD, max_tokens=9000, thinking=thought("enabled", budget_tokens=1024)),
        bad=ask(model=OLD, thinking=thought("enabled")),
    ),
    case("R4.field-required", "thinking.type", good=ask(thinking=thought()), bad=ask(thinking={"display": "omitted"})),
)

WRONG = (
    case(
        "R60.choice-not-object",
        "tool_choice",
        good=ask(tools=[{"name": "f", "input_schema": {"type": "object"}}], tool_choice={"type": "auto"}),
        bad=ask(tool_choice="auto"),
    ),
    case("R4.wrong-type", "max_tokens", good=ask(max_tokens=1), bad=ask(max_tokens=1.0), kind="integer"),
    case("R4.wrong-type", "stream", good=ask(stream=False), bad=ask(stream=0), kind="boolean"),
    case("R4.wrong-type", "top_p", good=ask(top_p=None), bad=ask(top_p=True), kind="number"),
    case("R4.wrong-type", "metadata", good=ask(metadata={}), bad=ask(metadata=None), kind="dictionary"),
    case("R4.wrong-type", "tools", good=ask(tools=[]), bad=ask(tools={}), kind="list"),
    case(
        "R4.wrong-type", "stop_sequences.1", good=ask(stop_sequences=["a"]), bad=ask(stop_sequences=["a", 1]), kind="string"
    ),
)

VALUES = (
    case(
        "R10.type-unknown",
        "thinking",
        good=ask(thinking=thought()),
        bad=ask(thinking=thought("auto")),
        tag="auto",
    ),
    case(
        "R60.choice-unknown",
        "tool_choice",
        good=ask(tools=[{"name": "f", "input_schema": {"type": "object"}}], tool_choice={"type": "none"}),
        bad=ask(tool_choice={"type": "required"}),
        tag="required",
    ),
    case(
        "R4.tag-unknown",
        "context_management.edits.0",
        good=ask(betas=CONTEXT, context_management=edits({"type": "clear_thinking_20251015"})),
        bad=ask(betas=CONTEXT, context_management=edits({"type": "clear"})),
        tag="clear",
        tags="'clear_thinking_20251015', 'clear_tool_uses_20250919'",
    ),
    case(
        "R9.display-unknown",
        "thinking.adaptive.display",
        good=ask(thinking=thought(display="omitted")),
        bad=ask(thinking=thought(display="full")),
    ),
    case(
        "R9.display-updates-gated",
        "thinking.adaptive.display",
        good=ask(betas=UPDATES, thinking=thought(display="updates")),
        bad=ask(thinking=thought(display="updates")),
    ),
    case(
        "R9.mismatch-behavior-unknown",
        "thinking.adaptive.block_binding.prefix_mismatch_behavior",
        good=ask(betas=BINDING, thinking=thought(block_binding={"prefix_mismatch_behavior": "drop_block"})),
        bad=ask(betas=BINDING, thinking=thought(block_binding={"prefix_mismatch_behavior": "drop"})),
    ),
    case(
        "R12.effort-unknown",
        "output_config.effort",
        good=ask(output_config={"effort": "max"}),
        bad=ask(output_config={"effort": "ultra"}),
    ),
    case(
        "R58.ttl-unknown",
        "system.0.cache_control.ttl",
        good=ask(system=[text("s", cache_control={"type": "ephemeral", "ttl": "1h"})]),
        bad=ask(system=[text("s", cache_control={"type": "ephemeral", "ttl": "1d"})]),
    ),
    case(
        "R4.value-unknown",
        "service_tier",
        good=ask(service_tier="auto"),
        bad=ask(service_tier="fast"),
        values="'auto' or 'standard_only'",
    ),
)

NUMBERS = (
    case(
        "R11.budget-minimum",
        "thinking.enabled.budget_tokens",
        good=ask(model=OLD, max_tokens=9000, thinking=thought("enabled", budget_tokens=1024)),
        bad=ask(model=OLD, max_tokens=9000, thinking=thought("enabled", budget_tokens=1023)),
    ),
    case(
        "R52.keep-not-positive",
        "context_management.edits.0.clear_thinking_20251015.keep.thinking_turns.value",
        good=ask(betas=CONTEXT, context_management=keep(1)),
        bad=ask(betas=CONTEXT, context_management=keep(0)),
    ),
    case(
        "R54.trigger-minimum",
        "context_management.edits.0.compact_20260112.trigger.value",
        good=ask(betas=COMPACT, context_management=compact(50000)),
        bad=ask(betas=COMPACT, context_management=compact(49999)),
    ),
    case(
        "R13.temperature-range",
        "temperature",
        good=ask(model=OLD, temperature=0),
        bad=ask(model=OLD, temperature=1.5),
        limit="less than or equal to 1",
    ),
    case(
        "R4.out-of-range",
        "max_tokens",
        good=ask(max_tokens=0),
        bad=ask(max_tokens=-1),
        limit="greater than or equal to 0",
    ),
    case(
        "R17.too-many-messages",
        "messages",
        good=ask(messages=[user("x")] * 1000),
        bad=ask(messages=[user("x")] * 100_001),
        count=100_001,
    ),
)

GATES: tuple[Case, ...] = (
    case("R2.temperature", "temperature", good=ask(temperature=1), bad=ask(temperature=1, version=NEWER)),
    case("R2.top-p", "top_p", good=ask(top_p=1), bad=ask(top_p=1, version=NEWER)),
    case("R2.top-k", "top_k", good=ask(model=OLD, top_k=5), bad=ask(model=OLD, top_k=None, version=NEWER)),
    case(
        "R51.gated",
        "context_management",
        good=ask(betas=CONTEXT, context_management=edits()),
        bad=ask(context_management=edits()),
    ),
    case(
        "R51.compact-gated",
        "context_management.edits.0",
        good=ask(betas=(*CONTEXT, *COMPACT), context_management=compact(50000)),
        bad=ask(betas=CONTEXT, context_management=compact(50000)),
        tag="compact_20260112",
        tags="'clear_thinking_20251015', 'clear_tool_uses_20250919'",
    ),
    case(
        "R9.block-binding-gated",
        "thinking.adaptive.block_binding",
        good=ask(betas=BINDING, thinking=thought(block_binding={})),
        bad=ask(thinking=thought(block_binding={})),
    ),
    case(
        "R12.task-budget-gated",
        "output_config.task_budget",
        good=ask(betas=("task-budgets-2026-03-13",), output_config={"task_budget": {"type": "tokens", "total": 5}}),
        bad=ask(output_config={"task_budget": {"type": "tokens", "total": 5}}),
    ),
    case(
        "R3.field-gated",
        "safeguards",
        good=ask(betas=("dangerous-tool-use-2026-09-03",), safeguards=[]),
        bad=ask(safeguards=[]),
    ),
    case("R4.field-not-counted", "stream", good=ask(counting=True, system="s"), bad=ask(counting=True, stream=False)),
)

UNKNOWN = (
    case(
        "R9.disabled-display",
        "thinking.disabled.display",
        good=ask(model=OLD, thinking=thought("disabled")),
        bad=ask(model=OLD, thinking=thought("disabled", display="omitted")),
    ),
    case(
        "R9.between-tools-extra",
        "thinking.between_tools.display",
        good=ask(model=SONNET_5_5, thinking=thought("between_tools")),
        bad=ask(model=SONNET_5_5, thinking=thought("between_tools", display="omitted")),
    ),
    case(
        "R9.binding-key-aws",
        "thinking.adaptive.block_binding.bind_to_end_user",
        good=ask(betas=BINDING, thinking=thought(block_binding={"prefix_mismatch_behavior": "error"})),
        bad=ask(betas=BINDING, thinking=thought(block_binding={"bind_to_end_user": True})),
    ),
    case("R4.field-unknown", "n", good=ask(), bad=ask(n=1)),
    case(
        "R4.key-unknown",
        "thinking.adaptive.budget_tokens",
        good=ask(thinking=thought()),
        bad=ask(thinking=thought(budget_tokens=1)),
    ),
    case("R4.key-unknown", "metadata.name", good=ask(metadata={"user_id": "u"}), bad=ask(metadata={"name": "n"})),
)

CASES = (*REQUIRED, *WRONG, *VALUES, *NUMBERS, *GATES, *UNKNOWN)
