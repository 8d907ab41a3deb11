"""The schema, rule by rule: what is required, of which kind, with which value."""

import copy
from typing import Any

from clew.model.facts import blocks
from tests.manifest import accepts, refuses
from tests.simulator.judging import (
    ABSENT,
    BINDING,
    HOUR,
    TOOL,
    ask,
    assistant,
    call,
    named,
    request,
    result,
    row,
    search,
    system,
    text,
    user,
)
from tests.simulator.talks import Talk, Think

REQUIRED = "{path}: Field required"
TAGS = "{path}: Input tag '%s' found using 'type' does not match any of the expected tags: %s"
TALK = Talk(model="claude-opus-4-8").ask("Hi.").reply(Think("Hm."), "Hello.").ask("Go on.")


def thinking(**changes: Any) -> dict[str, Any]:
    """A conversation with one signed block, that block changed."""
    messages = copy.deepcopy(TALK.messages)
    block = {**messages[1]["content"][0], **changes}
    messages[1]["content"][0] = {key: value for key, value in block.items() if value is not ABSENT}
    return {"messages": messages}


def tooled(block: dict[str, Any], answer: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"tools": [TOOL], "messages": [user("Hi."), assistant(block), user(answer or result())]}


def tool(**changes: Any) -> dict[str, Any]:
    return {"tools": [{key: value for key, value in {**TOOL, **changes}.items() if value is not ABSENT}]}


def edit(**value: Any) -> dict[str, Any]:
    return {"thinking": {"type": "adaptive"}, "context_management": {"edits": [value]}}


EDITS = "context-management-2025-06-27"
ADAPTIVE = {"thinking": {"type": "adaptive"}}
WITH_SYSTEM = [user("Hi."), system("Be brief.")]
KNOWN = ", ".join(f"'{name}'" for name, block in blocks().items() if block.roles and not block.beta)
NESTED = ", ".join(f"'{name}'" for name, block in blocks().items() if block.nested)
ROWS = [
    row("R4.model-required", {"model": ABSENT}, {}, "model", REQUIRED),
    row("R4.messages-required", {"messages": ABSENT}, {}, "messages", REQUIRED),
    row("R4.max-tokens-required", {"max_tokens": ABSENT}, {}, "max_tokens", REQUIRED),
    row(
        "R33.signature-missing", thinking(signature=ABSENT), thinking(), "messages.1.content.0.thinking.signature", REQUIRED
    ),
    row("R33.thinking-missing", thinking(thinking=ABSENT), thinking(), "messages.1.content.0.thinking.thinking", REQUIRED),
    row(
        "R28.tool-use-id-required",
        tooled(call(), {"type": "tool_result", "content": "seen"}),
        tooled(call()),
        "messages.2.content.0.tool_result.tool_use_id",
        REQUIRED,
    ),
    row("R59.schema-required", tool(input_schema=ABSENT), tool(), "tools.0.custom.input_schema", REQUIRED),
    row("R4.field-required", {"messages": [{"content": "Hi."}]}, {}, "messages.0.role", REQUIRED),
    row(
        "R60.choice-not-object",
        {**tool(), "tool_choice": "auto"},
        {**tool(), "tool_choice": {"type": "auto"}},
        "tool_choice",
        "{path}: Input should be an object",
    ),
    row(
        "R59.description-not-string",
        tool(description=None),
        tool(description=ABSENT),
        "tools.0.custom.description",
        "{path}: Input should be a valid string",
    ),
    row(
        "R33.signature-not-string",
        thinking(signature=None),
        thinking(),
        "messages.1.content.0.thinking.signature.str",
        "{path}: Input should be a valid string",
    ),
    row(
        "R24.input-not-object",
        tooled(call(input=[])),
        tooled(call(input={"a": [1]})),
        "messages.1.content.0.tool_use.input",
        "{path}: Input should be a valid dictionary",
    ),
    row("R4.wrong-type", {"max_tokens": 10.0}, {"max_tokens": 10}, "max_tokens", "{path}: Input should be a valid integer"),
    row(
        "R23.role-unknown",
        {"messages": [{"role": "tool", "content": "Hi."}]},
        {"messages": WITH_SYSTEM},
        "messages.0.role",
        "{path}: Input should be 'user', 'assistant' or 'system'",
    ),
    row(
        "R23.block-unknown",
        {"messages": [user({"type": "video"})]},
        {"messages": [user(text("Hi."))]},
        "messages.0.content.0",
        TAGS % ("video", KNOWN),
    ),
    row(
        "R10.type-unknown",
        {"thinking": {"type": "on"}},
        ADAPTIVE,
        "thinking",
        TAGS % ("on", "'adaptive', 'between_tools', 'disabled', 'enabled'"),
    ),
    row(
        "R60.choice-unknown",
        {**tool(), "tool_choice": {"type": "required"}},
        {**tool(), "tool_choice": {"type": "any"}},
        "tool_choice",
        TAGS % ("required", "'auto', 'any', 'tool', 'none'"),
    ),
    row(
        "R4.tag-unknown",
        edit(type="forget"),
        edit(type="clear_thinking_20251015"),
        "context_management.edits.0",
        TAGS % ("forget", "'clear_thinking_20251015', 'clear_tool_uses_20250919'"),
        betas=(EDITS,),
    ),
    row(
        "R9.display-unknown",
        {"thinking": {"type": "adaptive", "display": "full"}},
        {"thinking": {"type": "adaptive", "display": "omitted"}},
        "thinking.adaptive.display",
        "{path}: Input should be 'summarized' or 'omitted'",
    ),
    row(
        "R9.mismatch-behavior-unknown",
        {"thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "ignore"}}},
        {"thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}},
        "thinking.adaptive.block_binding.prefix_mismatch_behavior",
        "{path}: Input should be 'error' or 'drop_block'",
        betas=(BINDING,),
    ),
    row(
        "R12.effort-unknown",
        {"output_config": {"effort": "extreme"}},
        {"output_config": {"effort": "max"}},
        "output_config.effort",
        "{path}: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'",
    ),
    row(
        "R58.ttl-unknown",
        {"messages": [user(text("Hi.", cache_control={"type": "ephemeral", "ttl": "2h"}))]},
        {"messages": [user(text("Hi.", cache_control=HOUR))]},
        "messages.0.content.0.text.cache_control.ttl",
        "{path}: Input should be '5m' or '1h'",
    ),
    row(
        "R4.value-unknown",
        {"service_tier": "premium"},
        {"service_tier": "auto"},
        "service_tier",
        "{path}: Input should be 'auto' or 'standard_only'",
    ),
]


@refuses("rule:R4.value-unknown")
def test_a_value_with_one_choice_is_named_alone() -> None:
    """R4: pydantic's list of choices has no "or" for one."""
    violation = ask(request(cache_control={"type": "forever"})).violation
    path = "cache_control.type"
    assert named(violation) == ("R4.value-unknown", path, f"{path}: Input should be 'ephemeral'")


@refuses("rule:R23.block-unknown")
def test_inside_a_tool_result_only_nested_types_are_listed() -> None:
    """R23: the tags that the words name are those that would be legal there."""
    violation = ask(request(**tooled(call(), result(content=[call()])))).violation
    path = "messages.2.content.0.tool_result.content.0"
    assert named(violation) == ("R23.block-unknown", path, (TAGS % ("tool_use", NESTED)).replace("{path}", path))


@accepts("rule:R23.block-unknown")
def test_every_block_type_that_needs_no_beta_is_legal_in_its_place() -> None:
    """R23: the list of types that requests may hold."""
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    messages = [
        user(
            {"type": "search_result", "content": [], "source": "s", "title": "t"},
            {"type": "container_upload", "file_id": "f"},
        ),
        assistant(search(), found, call(caller={"type": "direct"})),
        user(result(content=[{"type": "tool_reference", "tool_name": "look"}]), text("And?", citations=None)),
    ]
    assert ask(request(messages=messages, tools=[TOOL])).violation is None
