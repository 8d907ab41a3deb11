"""The schema, rule by rule: patterns, ranges, lengths, and how paths name what is wrong."""

import time
from typing import Any

import pytest

from clew.simulator.server import stance
from tests.manifest import accepts, proves, refuses
from tests.simulator.judging import (
    ABSENT,
    TOOL,
    ask,
    assistant,
    call,
    request,
    result,
    row,
    search,
    system,
    text,
    user,
)


def tooled(block: dict[str, Any], answer: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"tools": [TOOL], "messages": [user("Hi."), assistant(block), user(answer or result())]}


def tool(**changes: Any) -> dict[str, Any]:
    return {"tools": [{key: value for key, value in {**TOOL, **changes}.items() if value is not ABSENT}]}


def edit(**value: Any) -> dict[str, Any]:
    return {"thinking": {"type": "adaptive"}, "context_management": {"edits": [value]}}


EDITS = "context-management-2025-06-27"
COMPACT = "compact-2026-01-12"
PATTERN = "{path}: String should match pattern '%s'"
ROWS = [
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
        "R17.too-many-messages",
        {"messages": [user("Hi.")] * 100_001},
        {"messages": [user("Hi.")] * 3},
        "messages",
        "{path}: List should have at most 100000 items after validation, not 100001",
    ),
]


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


@proves("rule:R17.too-many-messages")
def test_a_million_messages_are_refused_soon() -> None:
    """R17: the entries are then not looked at. CPU time, since others may be busy too."""
    body = b'{"model":"claude-opus-4-8","max_tokens":9,"messages":[' + b",".join([b'{"role":"user"}'] * 1_000_000) + b"]}"

    def seconds() -> float:
        begun = time.thread_time()
        violation = ask(body).violation
        assert violation is not None
        assert violation.rule == "R17.too-many-messages"
        return time.thread_time() - begun

    assert any(seconds() < 1 for _ in range(3)), "one of three: caches are shared with everything else that is busy"
