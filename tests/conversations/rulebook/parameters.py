"""Parameters against the model (R7, R10–R15, R17, R32, R51, R52)."""

from typing import Any

from tests.build import Json, assistant, text, tool_result, tool_use, user
from tests.conversations.asked import OLD, OPUS_5, SONNET_5_5, ask
from tests.conversations.rulebook.case import Case, case
from tests.conversations.rulebook.schema import CONTEXT, edits, thought
from tests.conversations.rulebook.shapes import SET_OUTPUT, system, tool

FORMAT = {"format": {"type": "json_schema", "schema": {"type": "object"}}}
CITED = {
    "type": "document",
    "source": {"type": "text", "media_type": "text/plain", "data": "d"},
    "citations": {"enabled": True},
}
UNCITED = CITED | {"citations": {"enabled": False}}
CALL = assistant(tool_use("t1"))
MANUAL = {"type": "enabled", "budget_tokens": 2000}
CLEAR_THINKING = {"type": "clear_thinking_20251015"}
CLEAR_TOOL_USES = {"type": "clear_tool_uses_20250919"}


def effort(level: str) -> Json:
    return {"effort": level}


def warm_up(**fields: Any) -> Any:
    return ask(**{"model": OLD, "max_tokens": 0} | fields)


SIZE = (
    case(
        "R7.over-cap",
        "max_tokens",
        good=ask(model=OLD, max_tokens=64000),
        bad=ask(model="claude-sonnet-4-5-20250929", max_tokens=204096),
        max_tokens=204096,
        cap=64000,
        model="claude-sonnet-4-5-20250929",
    ),
    case("R7.zero-with-stream", "max_tokens", good=warm_up(stream=False), bad=warm_up(stream=True)),
    case("R7.zero-with-manual-thinking", "max_tokens", good=warm_up(), bad=warm_up(thinking=MANUAL)),
    case("R7.zero-with-format", "max_tokens", good=warm_up(), bad=warm_up(output_config=FORMAT)),
    case(
        "R7.zero-with-forced-tool",
        "max_tokens",
        good=warm_up(tools=[tool()], tool_choice={"type": "auto"}),
        bad=warm_up(tools=[tool()], tool_choice={"type": "any"}),
    ),
)

THINKING = (
    case(
        "R10.enabled-unsupported",
        "thinking.type",
        good=ask(model="claude-opus-4-6", max_tokens=3000, thinking=MANUAL),
        bad=ask(model="claude-opus-4-7", max_tokens=3000, thinking=MANUAL),
    ),
    case(
        "R10.disabled-use-between-tools",
        "thinking.type",
        good=ask(model=SONNET_5_5, thinking=thought("between_tools")),
        bad=ask(model=SONNET_5_5, thinking=thought("disabled")),
    ),
    case(
        "R10.disabled-use-manual",
        "thinking.type",
        good=ask(model="claude-mythos-preview", max_tokens=3000, thinking=MANUAL),
        bad=ask(model="claude-mythos-preview", thinking=thought("disabled")),
    ),
    case(
        "R10.disabled-unsupported",
        "thinking.type",
        good=ask(model="claude-opus-4-8", thinking=thought("disabled")),
        bad=ask(thinking=thought("disabled")),
    ),
    case(
        "R10.disabled-disputed",
        "thinking.type",
        good=ask(model="claude-opus-4-6", thinking=thought("disabled")),
        bad=ask(model="claude-opus-4-7", thinking=thought("disabled")),
        stance={"C-13": "reject"},
    ),
    case(
        "R10.between-tools-unsupported",
        "thinking.type",
        good=ask(model=SONNET_5_5, thinking=thought("between_tools")),
        bad=ask(thinking=thought("between_tools")),
    ),
    case(
        "R10.adaptive-unsupported",
        "thinking.type",
        good=ask(thinking=thought()),
        bad=ask(model=OLD, thinking=thought()),
    ),
    case(
        "R11.budget-not-below-max",
        "thinking.enabled.budget_tokens",
        good=ask(model=OLD, max_tokens=2001, thinking=MANUAL),
        bad=ask(model=OLD, max_tokens=2000, thinking=MANUAL),
    ),
    case(
        "R11.budget-not-below-max",
        "thinking.enabled.budget_tokens",
        good=ask(model=OLD, thinking=MANUAL, tools=[tool()], betas=("interleaved-thinking-2025-05-14",)),
        bad=ask(model=OLD, thinking=MANUAL, tools=[], betas=("interleaved-thinking-2025-05-14",)),
    ),
)

EFFORT = (
    case(
        "R12.effort-unsupported",
        "output_config.effort",
        good=ask(model=OLD, output_config={"effort": None}),
        bad=ask(model=OLD, output_config=effort("low")),
    ),
    case(
        "R12.effort-level",
        "output_config.effort",
        good=ask(model="claude-opus-4-6", output_config=effort("max")),
        bad=ask(model="claude-opus-4-6", output_config=effort("xhigh")),
        level="xhigh",
        levels="high, low, max, medium",
    ),
    case(
        "R10.disabled-effort",
        "output_config.effort",
        good=ask(model=OPUS_5, thinking=thought("disabled"), output_config=effort("high")),
        bad=ask(model=OPUS_5, thinking=thought("disabled"), output_config=effort("xhigh")),
        level="xhigh",
        limit="high",
    ),
    case(
        "R10.between-tools-effort",
        "output_config.effort",
        good=ask(model=SONNET_5_5, thinking=thought("between_tools"), output_config=effort("high")),
        bad=ask(model=SONNET_5_5, thinking=thought("between_tools"), output_config=effort("max")),
        level="max",
        limit="high",
    ),
    case(
        "R10.between-tools-message-effort",
        "messages.1.output_config.effort",
        good=ask(
            user("a"),
            system(output_config=effort("high")),
            model=SONNET_5_5,
            thinking=thought("between_tools"),
            betas=SET_OUTPUT,
        ),
        bad=ask(
            user("a"),
            system(output_config=effort("low")),
            model=SONNET_5_5,
            thinking=thought("between_tools"),
            betas=SET_OUTPUT,
        ),
    ),
)

FORMATS = (
    case(
        "R12.format-with-citations",
        "output_config.format",
        good=ask(user(CITED), output_config=effort("low")),
        bad=ask(user(CITED), output_config=FORMAT),
    ),
    case(
        "R12.format-with-citations",
        "output_config.format",
        good=ask(user("a"), CALL, user(tool_result("t1", [UNCITED])), output_config=FORMAT),
        bad=ask(user("a"), CALL, user(tool_result("t1", [UNCITED, CITED])), output_config=FORMAT),
    ),
    case(
        "R12.format-with-prefill",
        "output_config.format",
        good=ask(user("a"), assistant("{"), user("b"), model=OLD, output_config=FORMAT),
        bad=ask(user("a"), assistant("{"), model=OLD, output_config=FORMAT),
    ),
)

SAMPLING: tuple[Case, ...] = (
    case(
        "R13.temperature-with-thinking",
        "temperature",
        good=ask(model=OLD, max_tokens=3000, thinking=MANUAL, temperature=1.0),
        bad=ask(model=OLD, max_tokens=3000, thinking=MANUAL, temperature=0.9),
    ),
    case(
        "R13.top-p-with-thinking",
        "top_p",
        good=ask(model=OLD, max_tokens=3000, thinking=MANUAL, top_p=0.95),
        bad=ask(model=OLD, max_tokens=3000, thinking=MANUAL, top_p=0.94),
    ),
    case(
        "R13.top-k-with-thinking",
        "top_k",
        good=ask(model=OLD, thinking=thought("disabled"), top_k=5),
        bad=ask(model=OLD, max_tokens=3000, thinking=MANUAL, top_k=5),
    ),
    case("R14.temperature-deprecated", "temperature", good=ask(temperature=1), bad=ask(temperature=0.5)),
    case("R14.top-p-deprecated", "top_p", good=ask(top_p=1), bad=ask(top_p=0.99)),
    case("R14.top-k-deprecated", "top_k", good=ask(top_k=None), bad=ask(top_k=40)),
    case(
        "R14.temperature-and-top-p",
        "top_p",
        good=ask(model=OLD, temperature=0.5),
        bad=ask(model=OLD, temperature=0.5, top_p=0.5),
    ),
)

REST = (
    case(
        "R15.stop-sequence-blank", "stop_sequences", good=ask(stop_sequences=["a b"]), bad=ask(stop_sequences=["a", " \n"])
    ),
    case(
        "R17.mcp-unpaired",
        "mcp_servers.0",
        good=ask(
            mcp_servers=[{"type": "url", "name": "wiki", "url": "https://wiki.example"}],
            tools=[{"type": "mcp_toolset", "mcp_server_name": "wiki"}],
            betas=("mcp-client-2025-11-20",),
        ),
        bad=ask(
            mcp_servers=[{"type": "url", "name": "wiki", "url": "https://wiki.example"}],
            betas=("mcp-client-2025-11-20",),
        ),
        name="wiki",
    ),
    case(
        "R17.compaction-with-edits",
        "compaction",
        good=ask(betas=("compact-2026-09-04",), compaction={"type": "summarize"}),
        bad=ask(betas=("compact-2026-09-04", *CONTEXT), compaction={"type": "summarize"}, context_management=edits()),
    ),
    case(
        "R52.thinking-required",
        "context_management.edits.0",
        good=ask(model="claude-opus-4-8", thinking=thought(), betas=CONTEXT, context_management=edits(CLEAR_THINKING)),
        bad=ask(model="claude-opus-4-8", betas=CONTEXT, context_management=edits(CLEAR_THINKING)),
    ),
    case(
        "R51.edits-order",
        "context_management.edits.1",
        good=ask(betas=CONTEXT, context_management=edits(CLEAR_THINKING, CLEAR_TOOL_USES)),
        bad=ask(betas=CONTEXT, context_management=edits(CLEAR_TOOL_USES, CLEAR_THINKING)),
    ),
    case(
        "R32.role-unsupported",
        "messages.1.role",
        good=ask(user(text("a")), system()),
        bad=ask(user(text("a")), system(), model="claude-sonnet-5"),
    ),
)

CASES = (*SIZE, *THINKING, *EFFORT, *FORMATS, *SAMPLING, *REST)
