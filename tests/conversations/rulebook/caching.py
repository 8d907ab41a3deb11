"""Cache marks (R58)."""

from tests.build import assistant, text, thinking, tool_result, tool_use, user
from tests.conversations.asked import OLD, ask
from tests.conversations.rulebook.case import case
from tests.conversations.rulebook.roles import IMAGE
from tests.conversations.rulebook.shapes import MARK, tool

HOUR = {"type": "ephemeral", "ttl": "1h"}
LISTING = {"type": "mcp_tool_listing", "mcp_server_name": "s", "tools": []}
MCP = ("mcp-client-2026-09-15",)
MINUTES = {"type": "ephemeral", "ttl": "5m"}


def marked(count: int) -> list[dict[str, object]]:
    return [text(f"{n}", cache_control=MARK) for n in range(count)]


CASES = (
    case(
        "R58.too-many-marks",
        "",
        good=ask(user(*marked(3)), system=marked(1)),
        bad=ask(user(*marked(3)), system=marked(1), tools=[tool(cache_control=MARK)]),
        count=5,
    ),
    case(
        "R58.too-many-marks",
        "",
        good=ask(assistant(tool_use("t1")), user(tool_result("t1", marked(4)))),
        bad=ask(assistant(tool_use("t1")), user(tool_result("t1", marked(5))), cache_control=MARK),
        count=6,
    ),
    case(
        "R58.automatic-fifth",
        "cache_control",
        good=ask(user(*marked(4)), cache_control=MINUTES),
        bad=ask(user(*marked(4), text("last")), cache_control=MARK),
    ),
    case(
        "R58.automatic-fifth",
        "cache_control",
        good=ask(user(*marked(4)), {"role": "assistant", "content": ""}, model=OLD, cache_control=MARK),
        bad=ask(user(*marked(4), IMAGE), cache_control=MARK),
    ),
    case(
        "R58.automatic-fifth",
        "cache_control",
        good=ask(user(*marked(3)), assistant(*marked(1), LISTING), model=OLD, betas=MCP, cache_control=MARK),
        bad=ask(user("a"), tools=[tool(cache_control=MARK)], system=marked(3), cache_control=MARK),
    ),
    case(
        "R58.automatic-ttl",
        "cache_control.ttl",
        good=ask(user(text("a", cache_control=HOUR)), cache_control=HOUR),
        bad=ask(user(text("a", cache_control=MARK)), cache_control=HOUR),
    ),
    case(
        "R58.automatic-ttl",
        "cache_control.ttl",
        good=ask(user("a"), assistant(text("b", cache_control=HOUR), thinking("hm")), user("c"), cache_control=MARK),
        bad=ask(user(text("a", cache_control=HOUR)), cache_control=MARK),
    ),
    case(
        "R58.ttl-order",
        "messages.0.content.0.cache_control.ttl",
        good=ask(user(text("a", cache_control=MINUTES)), system=[text("s", cache_control=HOUR)]),
        bad=ask(user(text("a", cache_control=HOUR)), system=[text("s", cache_control=MARK)]),
    ),
)
