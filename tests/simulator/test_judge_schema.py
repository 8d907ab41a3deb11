"""The schema, rule by rule: what is required, of which kind, which value, and behind which beta."""

import copy
import time
from typing import Any

import pytest

from clew.model.facts import blocks
from clew.simulator.stances import stance
from tests.manifest import accepts, proves, refuses
from tests.simulator.judging import (
    ABSENT,
    BINDING,
    HOUR,
    NEW,
    TOOL,
    Row,
    accepting,
    ask,
    assistant,
    call,
    named,
    refusing,
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


def tooled(block: dict[str, Any], answer: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"tools": [TOOL], "messages": [user("Hi."), assistant(block), user(answer or result())]}


def tool(**changes: Any) -> dict[str, Any]:
    return {"tools": [{key: value for key, value in {**TOOL, **changes}.items() if value is not ABSENT}]}


def edit(**value: Any) -> dict[str, Any]:
    return {"thinking": {"type": "adaptive"}, "context_management": {"edits": [value]}}


EDITS = "context-management-2025-06-27"
COMPACT = "compact-2026-01-12"
PATTERN = "{path}: String should match pattern '%s'"
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
        "R23.block-gated",
        {"messages": [user("Hi."), assistant({"type": "compaction", "content": "So far."}), user("Go on.")]},
        {"messages": [user("Hi."), assistant({"type": "compaction", "content": "So far."}), user("Go on.")]},
        "messages.1.content.0",
        TAGS % ("compaction", KNOWN),
        good_betas=(COMPACT,),
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
        "R9.display-updates-gated",
        {"thinking": {"type": "adaptive", "display": "updates"}},
        {"thinking": {"type": "adaptive", "display": "updates"}},
        "thinking.adaptive.display",
        "{path}: Input should be 'summarized' or 'omitted'",
        good_betas=("thinking-display-updates-2026-08-18",),
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
    row(
        "R24.id-pattern",
        tooled(call("functions.look:0"), result("functions.look:0")),
        tooled(call("call_0-a"), result("call_0-a")),
        "messages.1.content.0.tool_use.id",
        PATTERN % "^[a-zA-Z0-9_-]+$",
    ),
    row(
        "R24.server-id-pattern",
        {"messages": [user("Hi."), assistant(search("toolu_1"), "Found."), user("More.")]},
        {
            "messages": [
                user("Hi."),
                assistant(search(), {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}),
                user("More."),
            ]
        },
        "messages.1.content.0.server_tool_use.id",
        PATTERN % "^srvtoolu_[a-zA-Z0-9_]+$",
    ),
    row(
        "R59.name-pattern",
        tool(name="a" * 129),
        tool(name="a" * 128),
        "tools.0.custom.name",
        PATTERN % "^[a-zA-Z0-9_-]{1,128}$",
        conflict="C-17",
    ),
    row(
        "R59.name-over-64",
        tool(name="a" * 65),
        tool(name="a" * 64),
        "tools.0.custom.name",
        PATTERN % "^[a-zA-Z0-9_-]{1,64}$",
        stance=stance({"C-17": 64}),
        conflict="C-17",
    ),
    row(
        "R11.budget-minimum",
        {"model": "claude-sonnet-4-5", "max_tokens": 4096, "thinking": {"type": "enabled", "budget_tokens": 1023}},
        {"model": "claude-sonnet-4-5", "max_tokens": 4096, "thinking": {"type": "enabled", "budget_tokens": 1024}},
        "thinking.enabled.budget_tokens",
        "{path}: Input should be greater than or equal to 1024",
    ),
    row(
        "R52.keep-not-positive",
        edit(type="clear_thinking_20251015", keep={"type": "thinking_turns", "value": 0}),
        edit(type="clear_thinking_20251015", keep={"type": "thinking_turns", "value": 1}),
        "context_management.edits.0.clear_thinking_20251015.keep.thinking_turns.value",
        "{path}: Input should be greater than 0",
        betas=(EDITS,),
    ),
    row(
        "R54.trigger-minimum",
        edit(type="compact_20260112", trigger={"type": "input_tokens", "value": 49_999}),
        edit(type="compact_20260112", trigger={"type": "input_tokens", "value": 50_000}),
        "context_management.edits.0.compact_20260112.trigger.value",
        "{path}: Input should be greater than or equal to 50000",
        betas=(COMPACT,),
    ),
    row(
        "R13.temperature-range",
        {"model": "claude-sonnet-4-5", "temperature": 1.1},
        {"model": "claude-sonnet-4-5", "temperature": 0.9},
        "temperature",
        "{path}: Input should be less than or equal to 1",
    ),
    row(
        "R4.out-of-range",
        {"max_tokens": -1},
        {"max_tokens": 0},
        "max_tokens",
        "{path}: Input should be greater than or equal to 0",
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
    row(
        "R17.too-many-messages",
        {"messages": [user("Hi.")] * 100_001},
        {"messages": [user("Hi.")] * 3},
        "messages",
        "{path}: List should have at most 100000 items after validation, not 100001",
    ),
]


@pytest.mark.parametrize("case", refusing(ROWS))
def test_a_value_outside_the_schema_is_refused_at_its_path_in_the_vendors_words(case: Row) -> None:
    """The rule of the row, from its illegal side."""
    assert named(case.refused().violation) == (case.rule, case.path, case.text)


@pytest.mark.parametrize("case", accepting(ROWS))
def test_its_nearest_legal_neighbour_passes(case: Row) -> None:
    """The rule of the row, from its legal side."""
    assert case.accepted().violation is None


OTHER_PATHS = [
    ({"thinking": {"type": "adaptive", "foo": 1}}, "R4.key-unknown", "thinking.adaptive.foo"),
    ({"messages": [{**user("Hi."), "name": "me"}]}, "R4.key-unknown", "messages.0.name"),
    ({"tools": [{**TOOL, "foo": 1}]}, "R4.key-unknown", "tools.0.custom.foo"),
    (
        {"messages": [user({"type": "image", "source": {"type": "ftp"}})]},
        "R4.tag-unknown",
        "messages.0.content.0.image.source",
    ),
    (
        tooled(call(), result(content=[{"type": "thinking"}])),
        "R23.block-unknown",
        "messages.2.content.0.tool_result.content.0",
    ),
    (
        tooled(call(), result(content=[{"type": "image", "source": {"type": "base64", "media_type": "image/png"}}])),
        "R4.field-required",
        "messages.2.content.0.tool_result.content.0.image.source.base64.data",
    ),
    (
        {"tools": [{"type": "web_search_20250305", "name": 5}]},
        "R4.wrong-type",
        "tools.0.web_search_20250305.name",
    ),
    ({"messages": [user({"type": "tool_reference", "tool_name": "x"})]}, "R23.block-unknown", "messages.0.content.0"),
    ({"messages": ["Hi."]}, "R4.wrong-type", "messages.0"),
    ({"messages": [user(text("Hi."), 5)]}, "R4.wrong-type", "messages.0.content.1"),
    ({"messages": [{"role": 5, "content": "Hi."}]}, "R4.wrong-type", "messages.0.role"),
    ({"thinking": {}}, "R4.field-required", "thinking.type"),
    ({"stop_sequences": ["a", 1]}, "R4.wrong-type", "stop_sequences.1"),
    ({"stream": 1}, "R4.wrong-type", "stream"),
    ({"max_tokens": True}, "R4.wrong-type", "max_tokens"),
    (
        {"messages": [user("Hi."), system("x", output_config={"effort": "more"})]},
        "R32.output-config-gated",
        "messages.1.output_config",
    ),
]


@pytest.mark.parametrize(("changes", "rule", "path"), OTHER_PATHS)
@refuses(
    "rule:R4.key-unknown", "rule:R4.wrong-type", "rule:R4.field-required", "rule:R4.tag-unknown", "rule:R23.block-unknown"
)
def test_paths_hold_the_tags_of_the_unions_on_the_way(changes: dict[str, Any], rule: str, path: str) -> None:
    """R4: pydantic's form, as reports show it; what a gate refuses is not looked into."""
    violation = ask(request(**changes)).violation
    assert violation is not None
    assert (violation.rule, violation.path) == (rule, path)


@refuses("rule:R4.value-unknown")
def test_a_value_with_one_choice_is_named_alone() -> None:
    """R4: pydantic's list of choices has no "or" for one."""
    violation = ask(request(cache_control={"type": "forever"})).violation
    path = "cache_control.type"
    assert named(violation) == ("R4.value-unknown", path, f"{path}: Input should be 'ephemeral'")


@accepts("rule:R59.name-over-64")
def test_only_custom_tools_have_short_names() -> None:
    """C-17: a typed tool's name is the vendor's own."""
    tools = [{"type": "web_search_20250305", "name": "w" * 65}, TOOL]
    assert ask(request(tools=tools), stance=stance({"C-17": 64})).violation is None


@pytest.mark.slow
@accepts("rule:R17.too-many-messages")
def test_a_hundred_thousand_messages_are_looked_at() -> None:
    """R17: the limit itself is legal."""
    violation = ask(request(messages=[{}] * 100_000)).violation
    assert violation is not None
    assert (violation.rule, violation.path) == ("R4.field-required", "messages.0.role")


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


@proves("rule:R17.too-many-messages")
def test_a_million_messages_are_refused_in_under_a_second() -> None:
    """R17: the entries are then not looked at. CPU time, since others may be busy too."""
    body = b'{"model":"claude-opus-4-8","max_tokens":9,"messages":[' + b",".join([b'{"role":"user"}'] * 1_000_000) + b"]}"
    begun = time.process_time()
    violation = ask(body).violation
    assert violation is not None
    assert violation.rule == "R17.too-many-messages"
    assert time.process_time() - begun < 1
