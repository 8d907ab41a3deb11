"""The schema, rule by rule: what is behind a beta or a version, and what nobody knows."""

import copy
from typing import Any

from clew.model.facts import blocks
from clew.simulator.server import stance
from tests.simulator.judging import (
    ABSENT,
    BINDING,
    NEW,
    assistant,
    row,
    system,
    text,
    user,
)
from tests.simulator.talks import Talk, Think

EXTRA = "{path}: Extra inputs are not permitted"
TAGS = "{path}: Input tag '%s' found using 'type' does not match any of the expected tags: %s"
COUNT = {"path": "/v1/messages/count_tokens"}
TALK = Talk(model="claude-opus-4-8").ask("Hi.").reply(Think("Hm."), "Hello.").ask("Go on.")


def thinking(**changes: Any) -> dict[str, Any]:
    """A conversation with one signed block, that block changed."""
    messages = copy.deepcopy(TALK.messages)
    block = {**messages[1]["content"][0], **changes}
    messages[1]["content"][0] = {key: value for key, value in block.items() if value is not ABSENT}
    return {"messages": messages}


def edit(**value: Any) -> dict[str, Any]:
    return {"thinking": {"type": "adaptive"}, "context_management": {"edits": [value]}}


EDITS = "context-management-2025-06-27"
COMPACT = "compact-2026-01-12"
KNOWN = ", ".join(f"'{name}'" for name, block in blocks().items() if block.roles and not block.beta)
ROWS = [
    row(
        "R23.block-gated",
        {"messages": [user("Hi."), assistant({"type": "compaction", "content": "So far."}), user("Go on.")]},
        {"messages": [user("Hi."), assistant({"type": "compaction", "content": "So far."}), user("Go on.")]},
        "messages.1.content.0",
        TAGS % ("compaction", KNOWN),
        good_betas=(COMPACT,),
    ),
    row(
        "R9.display-updates-gated",
        {"thinking": {"type": "adaptive", "display": "updates"}},
        {"thinking": {"type": "adaptive", "display": "updates"}},
        "thinking.adaptive.display",
        "{path}: Input should be 'summarized' or 'omitted'",
        good_betas=("thinking-display-updates-2026-08-18",),
    ),
    row(
        "R2.temperature",
        {"temperature": 1},
        {"temperature": 1},
        "temperature",
        EXTRA,
        version=NEW,
        good_version="2023-06-01",
    ),
    row("R2.top-p", {"top_p": 1}, {"top_p": 1}, "top_p", EXTRA, version=NEW, good_version="2023-06-01"),
    row(
        "R2.top-k",
        {"model": "claude-sonnet-4-5", "top_k": 5},
        {"model": "claude-sonnet-4-5", "top_k": 5},
        "top_k",
        EXTRA,
        version=NEW,
        good_version="2023-06-01",
    ),
    row(
        "R51.gated",
        edit(type="clear_thinking_20251015"),
        edit(type="clear_thinking_20251015"),
        "context_management",
        EXTRA,
        good_betas=(EDITS,),
    ),
    row(
        "R51.compact-gated",
        edit(type="compact_20260112"),
        edit(type="compact_20260112"),
        "context_management.edits.0",
        TAGS % ("compact_20260112", "'clear_thinking_20251015', 'clear_tool_uses_20250919'"),
        betas=(EDITS,),
        good_betas=(COMPACT,),
    ),
    row(
        "R9.block-binding-gated",
        {"thinking": {"type": "adaptive", "block_binding": {}}},
        {"thinking": {"type": "adaptive", "block_binding": None}},
        "thinking.adaptive.block_binding",
        EXTRA,
    ),
    row(
        "R12.task-budget-gated",
        {"output_config": {"task_budget": {"type": "tokens", "total": 9}}},
        {"output_config": {"task_budget": {"type": "tokens", "total": 9}}},
        "output_config.task_budget",
        EXTRA,
        good_betas=("task-budgets-2026-03-13",),
    ),
    row(
        "R32.output-config-gated",
        {"messages": [user("Hi."), system("Be brief.", output_config={"effort": "low"})]},
        {"messages": [user("Hi."), system("Be brief.", output_config={"effort": "low"})]},
        "messages.1.output_config",
        EXTRA,
        good_betas=("per-turn-control-2026-07-01",),
    ),
    row(
        "R32.clear-at-gated",
        {"messages": [user("Hi."), system("Be brief.", clear_at="never")]},
        {"messages": [user("Hi."), system("Be brief.", clear_at="never")]},
        "messages.1.clear_at",
        EXTRA,
        good_betas=("mid-conversation-system-clear-at-2026-08-21",),
    ),
    row(
        "R3.field-gated",
        {"safeguards": [{"type": "dangerous_tool_use"}]},
        {"safeguards": [{"type": "dangerous_tool_use"}]},
        "safeguards",
        EXTRA,
        good_betas=("dangerous-tool-use-2026-09-03",),
    ),
    row(
        "R33.cache-control",
        thinking(cache_control={"type": "ephemeral"}),
        thinking(),
        "messages.1.content.0.thinking.cache_control",
        EXTRA,
    ),
    row(
        "R9.disabled-display",
        {"thinking": {"type": "disabled", "display": "omitted"}},
        {"thinking": {"type": "disabled"}},
        "thinking.disabled.display",
        EXTRA,
    ),
    row(
        "R9.between-tools-extra",
        {"model": "claude-sonnet-5-5", "thinking": {"type": "between_tools", "budget_tokens": 2048}},
        {"model": "claude-sonnet-5-5", "thinking": {"type": "between_tools"}},
        "thinking.between_tools.budget_tokens",
        EXTRA,
    ),
    row(
        "R9.binding-key-aws",
        {"thinking": {"type": "adaptive", "block_binding": {"mismatch_behavior": "error"}}},
        {"thinking": {"type": "adaptive", "block_binding": {"mismatch_behavior": "error"}}},
        "thinking.adaptive.block_binding.mismatch_behavior",
        EXTRA,
        betas=(BINDING,),
        good_stance=stance({"C-4": "aws"}),
        conflict="C-4",
    ),
    row("R4.field-unknown", {"campo_inventato_xyz": 1}, {}, "campo_inventato_xyz", EXTRA),
    row("R4.field-not-counted", {"max_tokens": 5}, {"max_tokens": ABSENT}, "max_tokens", EXTRA, terms=COUNT),
    row("R4.key-unknown", {"messages": [user(text("Hi.", foo=1))]}, {}, "messages.0.content.0.text.foo", EXTRA),
    row(
        "R2.document-in-assistant",
        {"messages": [user("Hi."), assistant({"type": "document", "source": {"type": "file", "file_id": "f"}}), user("?")]},
        {"messages": [user({"type": "document", "source": {"type": "file", "file_id": "f"}})]},
        "messages.1.content.0",
        "{path}: `document` blocks are not permitted in `assistant` messages",
        version=NEW,
    ),
    row(
        "R2.citations-in-user",
        {"messages": [user(text("Hi.", citations=[{"type": "page_location"}]))]},
        {"messages": [user(text("Hi.", citations=[]))]},
        "messages.0.content.0.text.citations",
        EXTRA,
        version=NEW,
    ),
]
