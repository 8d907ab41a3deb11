"""Blocks, messages and tools: their shapes (R2, R4, R23, R24, R28, R32, R33, R59)."""

from typing import Any

from tests.build import Json, assistant, redacted, text, thinking, tool_result, tool_use, user
from tests.conversations.asked import NEWER, ask
from tests.conversations.rulebook.case import case

MARK = {"type": "ephemeral"}
SET_OUTPUT = ("mid-conversation-output-config-2026-07-01",)

TAGS = (
    "'text', 'image', 'document', 'search_result', 'thinking', 'redacted_thinking', 'tool_use', 'tool_result', "
    "'server_tool_use', 'web_search_tool_result', 'web_fetch_tool_result', 'code_execution_tool_result', "
    "'bash_code_execution_tool_result', 'text_editor_code_execution_tool_result', 'tool_search_tool_result', "
    "'container_upload'"
)
NESTED = "'text', 'image', 'document', 'search_result', 'tool_reference', 'browser_state'"


def tool(**fields: Any) -> Json:
    return {"name": "look", "input_schema": {"type": "object"}} | fields


def without(value: Json, key: str) -> Json:
    return {name: each for name, each in value.items() if name != key}


def said(*blocks: Json) -> tuple[Json, ...]:
    return (user("hi"), assistant(*blocks), user("go on"))


def used(call: Json, result: Json | None = None) -> tuple[Json, ...]:
    return (user("hi"), assistant(call), user(result or tool_result(call["id"])))


def system(**fields: Any) -> Json:
    return {"role": "system", "content": "be brief"} | fields


THINKING = thinking("hm", "s1g")
DOCUMENT = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "d"}}
CITATION = {"type": "char_location", "cited_text": "d"}

BLOCKS = (
    case(
        "R33.signature-missing",
        "messages.1.content.0.thinking.signature",
        good=ask(*said(THINKING, text("a"))),
        bad=ask(*said(without(THINKING, "signature"), text("a"))),
    ),
    case(
        "R33.thinking-missing",
        "messages.1.content.0.thinking.thinking",
        good=ask(*said(thinking("", "s1g"), text("a"))),
        bad=ask(*said(without(THINKING, "thinking"), text("a"))),
    ),
    case(
        "R33.signature-not-string",
        "messages.1.content.0.thinking.signature.str",
        good=ask(*said(THINKING, text("a"))),
        bad=ask(*said(THINKING | {"signature": None}, text("a"))),
    ),
    case(
        "R33.cache-control",
        "messages.1.content.0.thinking.cache_control",
        good=ask(*said(THINKING, text("a", cache_control=MARK))),
        bad=ask(*said(THINKING | {"cache_control": MARK}, text("a"))),
    ),
    case(
        "R33.cache-control",
        "messages.1.content.0.redacted_thinking.cache_control",
        good=ask(*said(redacted("d"), text("a"))),
        bad=ask(*said(redacted("d") | {"cache_control": None}, text("a"))),
    ),
    case(
        "R28.tool-use-id-required",
        "messages.2.content.0.tool_result.tool_use_id",
        good=ask(*used(tool_use("t1"))),
        bad=ask(*used(tool_use("t1"), without(tool_result("t1"), "tool_use_id"))),
    ),
    case(
        "R24.input-not-object",
        "messages.1.content.0.tool_use.input",
        good=ask(*used(tool_use("t1"))),
        bad=ask(*used(tool_use("t1") | {"input": "{}"})),
    ),
    case(
        "R24.id-pattern",
        "messages.1.content.0.tool_use.id",
        good=ask(*used(tool_use("call_0-A"))),
        bad=ask(*used(tool_use("functions.Bash:3"))),
    ),
    case(
        "R24.server-id-pattern",
        "messages.1.content.0.server_tool_use.id",
        good=ask(
            *said(
                {"type": "server_tool_use", "id": "srvtoolu_1", "name": "bash_code_execution", "input": {}},
                {"type": "bash_code_execution_tool_result", "tool_use_id": "srvtoolu_1", "content": {}},
            )
        ),
        bad=ask(*said({"type": "server_tool_use", "id": "toolu_1", "name": "bash_code_execution", "input": {}})),
    ),
    case(
        "R23.block-gated",
        "messages.1.content.0",
        good=ask(*said({"type": "compaction", "content": "so far"}), betas=("compact-2026-01-12",)),
        bad=ask(*said({"type": "compaction", "content": "so far"})),
        tag="compaction",
        tags=TAGS,
    ),
    case(
        "R23.block-unknown",
        "messages.0.content.0",
        good=ask(user(text("a"))),
        bad=ask(user({"type": "input_text", "text": "a"})),
        tag="input_text",
        tags=TAGS,
    ),
    case(
        "R23.block-unknown",
        "messages.0.content.0",
        good=ask(*used(tool_use("t1"), tool_result("t1", [{"type": "tool_reference", "tool_name": "look"}]))),
        bad=ask(user({"type": "tool_reference", "tool_name": "look"})),
        tag="tool_reference",
        tags=TAGS,
    ),
    case(
        "R23.block-unknown",
        "messages.2.content.0.tool_result.content.0",
        good=ask(*used(tool_use("t1"), tool_result("t1", [text("a")]))),
        bad=ask(*used(tool_use("t1"), tool_result("t1", [THINKING]))),
        tag="thinking",
        tags=NESTED,
    ),
    case(
        "R4.field-required",
        "messages.0.content.0.type",
        good=ask(user(text("a"))),
        bad=ask(user({"text": "a"})),
    ),
    case(
        "R4.key-unknown",
        "messages.2.content.0.tool_result.content.0.text.id",
        good=ask(*used(tool_use("t1"), tool_result("t1", [text("a")]))),
        bad=ask(*used(tool_use("t1"), tool_result("t1", [text("a", id=1)]))),
    ),
    case(
        "R2.document-in-assistant",
        "messages.1.content.0",
        good=ask(*said(DOCUMENT)),
        bad=ask(*said(DOCUMENT), version=NEWER),
    ),
    case(
        "R2.citations-in-user",
        "messages.0.content.0.text.citations",
        good=ask(user(text("a", citations=[])), version=NEWER),
        bad=ask(user(text("a", citations=[CITATION])), version=NEWER),
    ),
)

MESSAGES = (
    case("R23.role-unknown", "messages.0.role", good=ask(user("a")), bad=ask({"role": "tool", "content": "a"})),
    case("R4.field-required", "messages.0.role", good=ask(user("a")), bad=ask({"content": "a"})),
    case("R4.key-unknown", "messages.0.name", good=ask(user("a")), bad=ask(user("a") | {"name": "n"})),
    case(
        "R32.output-config-gated",
        "messages.1.output_config",
        good=ask(user("a"), system(output_config={"effort": "low"}), betas=SET_OUTPUT),
        bad=ask(user("a"), system(output_config={"effort": "low"})),
    ),
    case(
        "R32.clear-at-gated",
        "messages.1.clear_at",
        good=ask(user("a"), system(clear_at="never"), betas=("mid-conversation-system-clear-at-2026-08-21",)),
        bad=ask(user("a"), system(clear_at="never")),
    ),
    case(
        "R12.effort-unknown",
        "messages.1.output_config.effort",
        good=ask(user("a"), system(output_config={"effort": "low"}), betas=SET_OUTPUT),
        bad=ask(user("a"), system(output_config={"effort": "none"}), betas=SET_OUTPUT),
    ),
)

TOOLS = (
    case(
        "R59.schema-required",
        "tools.0.custom.input_schema",
        good=ask(tools=[tool()]),
        bad=ask(tools=[without(tool(), "input_schema")]),
    ),
    case(
        "R59.description-not-string",
        "tools.0.custom.description",
        good=ask(tools=[tool(description="")]),
        bad=ask(tools=[tool(description=None)]),
    ),
    case(
        "R59.name-pattern",
        "tools.0.custom.name",
        good=ask(tools=[tool(name="n" * 128)]),
        bad=ask(tools=[tool(name="n" * 129)]),
    ),
    case(
        "R59.name-over-64",
        "tools.0.custom.name",
        good=ask(tools=[tool(name="n" * 64)]),
        bad=ask(tools=[tool(name="n" * 65)]),
        stance={"C-17": "64"},
    ),
    case(
        "R4.value-unknown",
        "tools.0.custom.input_schema.type",
        good=ask(tools=[tool(type="custom")]),
        bad=ask(tools=[tool(input_schema={"type": "string"})]),
        values="'object'",
    ),
    case(
        "R4.field-required",
        "tools.0.web_search_20250305.name",
        good=ask(tools=[{"type": "web_search_20250305", "name": "web_search", "max_uses": 8}]),
        bad=ask(tools=[{"type": "web_search_20250305"}]),
    ),
    case(
        "R4.key-unknown",
        "tools.0.custom.parameters",
        good=ask(tools=[tool()]),
        bad=ask(tools=[tool(parameters={})]),
    ),
)

CASES = (*BLOCKS, *MESSAGES, *TOOLS)
