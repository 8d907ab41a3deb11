"""Tools and the choice among them (R49, R59–R61)."""

from tests.conversations.asked import OLD, OPUS_5, ask
from tests.conversations.rulebook.case import case
from tests.conversations.rulebook.parameters import MANUAL
from tests.conversations.rulebook.shapes import tool

ANY = {"type": "any"}
OPEN = {"type": "object", "properties": {"at": {"type": "object"}}, "additionalProperties": False}
CLOSED = OPEN | {"properties": {"at": {"type": "object", "additionalProperties": False}}}

CASES = (
    case(
        "R49.forced-tool-unsupported",
        "tool_choice",
        good=ask(model=OPUS_5, tools=[tool()], tool_choice=ANY),
        bad=ask(tools=[tool()], tool_choice=ANY),
    ),
    case(
        "R49.forced-tool-with-manual-thinking",
        "tool_choice",
        good=ask(model=OLD, max_tokens=3000, tools=[tool()], tool_choice={"type": "auto"}, thinking=MANUAL),
        bad=ask(model=OLD, max_tokens=3000, tools=[tool()], tool_choice=ANY, thinking=MANUAL),
    ),
    case(
        "R60.choice-without-tools",
        "tool_choice",
        good=ask(tools=[tool()], tool_choice={"type": "none"}),
        bad=ask(tool_choice={"type": "none"}),
    ),
    case(
        "R60.choice-name-unknown",
        "tool_choice.name",
        good=ask(model=OPUS_5, tools=[tool()], tool_choice={"type": "tool", "name": "look"}),
        bad=ask(model=OPUS_5, tools=[tool()], tool_choice={"type": "tool", "name": "find"}),
        name="find",
    ),
    case(
        "R59.names-not-unique",
        "tools",
        good=ask(tools=[tool(), tool(name="find")]),
        bad=ask(tools=[tool(), tool(name="find"), tool()]),
    ),
    case(
        "R59.strict-open-object",
        "tools.0.custom",
        good=ask(tools=[tool(strict=True, input_schema=CLOSED), tool(name="find", input_schema=OPEN)]),
        bad=ask(tools=[tool(strict=True, input_schema=OPEN)]),
    ),
    case(
        "R59.all-deferred",
        "tools",
        good=ask(tools=[tool(defer_loading=True), tool(name="find")]),
        bad=ask(tools=[tool(defer_loading=True), tool(name="find", defer_loading=True)]),
    ),
    case(
        "R61.tool-types-unsupported",
        "tools",
        good=ask(model=OPUS_5, tools=[{"type": "computer_20251124", "name": "computer"}]),
        bad=ask(tools=[tool(), {"type": "computer_20251124", "name": "computer"}]),
        model="claude-opus-5-5",
        types="computer_20251124",
    ),
)
