"""Calls and results (R25–R31)."""

from tests.build import assistant, text, tool_result, tool_use, user
from tests.conversations.asked import OLD, ask
from tests.conversations.rulebook.case import case
from tests.conversations.rulebook.roles import CALL, FOUND, RESULT, SEARCH
from tests.conversations.rulebook.shapes import tool

WEB = {"type": "web_search_20250305", "name": "web_search"}

CASES = (
    case(
        "R25.ids-not-unique",
        "messages.3.content.0",
        good=ask(user("a"), CALL, RESULT, assistant(tool_use("t2")), user(tool_result("t2"))),
        bad=ask(user("a"), CALL, RESULT, CALL, RESULT),
    ),
    case(
        "R26.unanswered",
        "messages.1",
        good=ask(
            user("a"), assistant(tool_use("A"), tool_use("B")), user(tool_result("B")), user(tool_result("A"), text("c"))
        ),
        bad=ask(user("a"), assistant(tool_use("A"), tool_use("B")), user(text("c"), tool_result("A"), tool_result("B"))),
        ids="A, B",
    ),
    case(
        "R27.unexpected-result",
        "messages.2.content.1",
        good=ask(user("a"), CALL, RESULT),
        bad=ask(user("a"), CALL, user(tool_result("t1"), tool_result("t9"))),
        id="t9",
    ),
    case(
        "R28.result-repeated",
        "messages.3.content.0",
        good=ask(user("a"), CALL, RESULT, user("b")),
        bad=ask(user("a"), CALL, RESULT, user(tool_result("t1", "again"))),
        id="t1",
    ),
    case(
        "R29.result-without-call",
        "messages.1.content.0",
        good=ask(user("a"), assistant(SEARCH, FOUND), user("b")),
        bad=ask(user("a"), assistant(FOUND, SEARCH), user("b")),
        tag="web_search_tool_result",
        id="srvtoolu_1",
        call="server_tool_use",
    ),
    case(
        "R29.call-unfinished",
        "messages.1.content.0",
        good=ask(user("a"), assistant(SEARCH), tools=[WEB]),
        bad=ask(user("a"), assistant(SEARCH), user("b"), tools=[WEB]),
        name="web_search",
        id="srvtoolu_1",
    ),
    case(
        "R29.call-unfinished",
        "messages.1.content.0",
        good=ask(user("a"), assistant(SEARCH, tool_use("t1")), RESULT, tools=[WEB]),
        bad=ask(user("a"), assistant(SEARCH, tool_use("t1")), user(tool_result("t1"), text("b")), tools=[WEB]),
        name="web_search",
        id="srvtoolu_1",
    ),
    case(
        "R29.tool-not-provided",
        "messages.1.content.0",
        good=ask(user("a"), assistant(SEARCH), tools=[WEB]),
        bad=ask(user("a"), assistant(SEARCH), tools=[tool()]),
        name="web_search",
        id="srvtoolu_1",
    ),
    case(
        "R30.tools-undefined",
        "tools",
        good=ask(user("a"), CALL, RESULT, tools=[tool()]),
        bad=ask(user("a"), CALL, RESULT),
        also=True,
    ),
    case(
        "R31.text-after-tool-use",
        "messages.3.content.1",
        good=ask(user("a"), assistant(tool_use("t1"), text("b")), RESULT, user("c")),
        bad=ask(user("a"), CALL, RESULT, assistant(tool_use("t2"), text("b")), user(tool_result("t2"))),
        also=True,
    ),
    case(
        "R31.text-after-tool-use",
        "messages.1.content.2",
        good=ask(user("a"), assistant(text("b"), tool_use("t1")), RESULT, model=OLD),
        bad=ask(user("a"), assistant(text("b"), tool_use("t1"), text("c")), RESULT, model=OLD),
        also=True,
    ),
)
