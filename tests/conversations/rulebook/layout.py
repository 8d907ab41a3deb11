"""Thinking and the last message (R20, R33, R35–R38)."""

from typing import Any

from tests.build import Json, assistant, redacted, text, thinking, tool_result, tool_use, user
from tests.conversations.asked import OLD, Asked, ask
from tests.conversations.rulebook.case import case
from tests.conversations.rulebook.pairing import WEB
from tests.conversations.rulebook.parameters import MANUAL
from tests.conversations.rulebook.roles import FOUND, RESULT, SEARCH
from tests.conversations.rulebook.schema import thought

HM = thinking("hm", "s1g")
USE = tool_use("t1")


def manual(*messages: Json, **fields: Any) -> Asked:
    return ask(*messages, **{"model": OLD, "max_tokens": 3000, "thinking": MANUAL} | fields)


LAST = (
    case(
        "R37.last-message",
        "messages.1",
        good=ask(user("a"), assistant(HM), user("b")),
        bad=ask(user("a"), assistant(text("b"), redacted("d"))),
        tag="redacted_thinking",
    ),
    case(
        "R20.prefill",
        "messages.1",
        good=ask(user("a"), assistant("b"), model=OLD),
        bad=ask(user("a"), assistant("b")),
    ),
    case(
        "R20.prefill",
        "messages.2",
        good=ask(user("a"), assistant("b"), assistant("c"), user("d")),
        bad=ask(user("a"), assistant("b"), assistant("c ")),
    ),
    case(
        "R20.prefill-with-thinking",
        "messages.1",
        good=manual(user("a"), assistant(HM, SEARCH), tools=[WEB]),
        bad=manual(user("a"), assistant(HM, text("b"))),
    ),
    case(
        "R20.trailing-whitespace",
        "messages.1",
        good=ask(user("a"), assistant("b ", "c"), model=OLD),
        bad=ask(user("a"), assistant("b\n"), model=OLD),
    ),
)

FIRST = (
    case(
        "R35.tool-loop",
        "messages.1.content.0.type",
        good=manual(user("a"), assistant(HM, USE), RESULT, assistant(tool_use("t2")), user(tool_result("t2"))),
        bad=manual(user("a"), assistant(text("b"), USE), RESULT),
        found="text",
    ),
    case(
        "R35.tool-loop",
        "messages.3.content.0.type",
        good=ask(user("a"), assistant(USE), RESULT, thinking=thought()),
        bad=manual(user("a"), assistant(HM, text("b")), user("c"), assistant(USE), RESULT),
        found="tool_use",
    ),
    case(
        "R35.tool-loop",
        "messages.0.content.0.type",
        good=manual(assistant(HM, USE), RESULT),
        bad=manual(assistant(USE), RESULT),
        found="tool_use",
    ),
    case(
        "R35.final-message",
        "messages.1.content.0.type",
        good=manual(user("a"), assistant(redacted("d"), SEARCH), tools=[WEB]),
        bad=manual(user("a"), assistant(text("b"))),
        found="text",
    ),
    case(
        "R35.final-message",
        "messages.1.content.0.type",
        good=manual(user("a"), {"role": "assistant", "content": "b"}, user("c")),
        bad=manual(user("a"), {"role": "assistant", "content": "b"}),
        found="text",
    ),
    case(
        "R36.thinking-not-first",
        "messages.1.content.0",
        good=manual(user("a"), assistant(HM, text("b")), assistant(HM, text("b")), user("c")),
        bad=manual(user("a"), assistant(text("b"), HM, text("c")), user("d")),
        stance={"C-15": "legacy"},
        found="text",
    ),
    case(
        "R36.thinking-not-first",
        "messages.1.content.0",
        good=ask(user("a"), assistant(text("b"), HM, text("c")), user("d"), model=OLD),
        bad=manual(user("a"), assistant(SEARCH, FOUND, HM), user("d")),
        stance={"C-15": "legacy"},
        found="server_tool_use",
    ),
)

ELSEWHERE = (
    case(
        "R37.mid-history",
        "messages.3",
        good=ask(user("a"), assistant(HM), user("b"), assistant(HM, text("c")), user("d")),
        bad=ask(user("a"), assistant(HM), user("b"), assistant(text("c"), HM), user("d")),
        stance={"C-7": "reject"},
        tag="thinking",
    ),
    case(
        "R38.thinking-while-off",
        "messages.1.content.0",
        good=ask(user("a"), assistant(HM, USE), RESULT, model="claude-opus-4-6"),
        bad=ask(user("a"), assistant(HM, USE), RESULT, model=OLD, thinking=thought("disabled")),
        tag="thinking",
    ),
    case(
        "R38.thinking-while-off",
        "messages.1.content.0",
        good=ask(user("a"), assistant(HM, text("b")), user("c"), model="claude-opus-4-6"),
        bad=ask(user("a"), assistant(redacted("d"), USE), RESULT, model="claude-opus-4-6"),
        stance={"C-8": "reject"},
        tag="redacted_thinking",
    ),
)

SIGNATURES = (
    case(
        "R33.empty-block",
        "messages.1.content.0.thinking",
        good=ask(user("a"), assistant(thinking("", "s1g"), text("b")), user("c")),
        bad=ask(user("a"), assistant(thinking("", ""), text("b")), user("c")),
    ),
    case(
        "R33.empty-signature",
        "messages.1.content.0",
        good=ask(user("a"), assistant(HM, text("b")), user("c")),
        bad=ask(user("a"), assistant(thinking("hm", ""), text("b")), user("c")),
    ),
    case(
        "R33.foreign-signature",
        "messages.1.content.0",
        good=ask(user("a"), assistant(HM, text("b")), user("c")),
        bad=ask(user("a"), assistant(thinking("hm", '{"field":"reasoning"}'), text("b")), user("c")),
    ),
)

CASES = (*LAST, *FIRST, *ELSEWHERE, *SIGNATURES)
