"""Calls and their results, rule by rule (R25–R31)."""

import json
from typing import Any

import pytest

from clew.simulator.anthropic.judge import static_violations
from tests.manifest import accepts, proves, refuses
from tests.simulator.judging import (
    ABSENT,
    TOOL,
    ask,
    assistant,
    call,
    headers,
    request,
    result,
    row,
    search,
    searched,
    user,
)

HI, OK = user("Hi."), assistant("Hello.")
SEARCH = {"type": "web_search_20250305", "name": "web_search"}


def say(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"messages": list(messages), "tools": [TOOL], **more}


UNANSWERED = (
    "{path}: `tool_use` ids were found without `tool_result` blocks immediately after: %s. "
    "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
)
UNEXPECTED = (
    "{path}: unexpected `tool_use_id` found in `tool_result` blocks: %s. "
    "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
)
ROWS = [
    row(
        "R25.ids-not-unique",
        say(HI, assistant(call()), user(result()), assistant("Again.", call()), user(result())),
        say(HI, assistant(call()), user(result()), assistant("Again.", call("toolu_2")), user(result("toolu_2"))),
        "messages.3.content.1",
        "{path}: `tool_use` ids must be unique",
    ),
    row(
        "R26.unanswered",
        say(HI, assistant(call("A"), call("B"), call("C")), user(result("C"), "So?")),
        say(HI, assistant(call("A"), call("B")), user(result("B")), user(result("A"), "So?")),
        "messages.1",
        UNANSWERED % "A, B",
    ),
    row(
        "R27.unexpected-result",
        say(HI, OK, user(result("toolu_X"))),
        say(HI, assistant(call("toolu_X")), user(result("toolu_X"))),
        "messages.2.content.0",
        UNEXPECTED % "toolu_X",
    ),
    row(
        "R28.result-repeated",
        say(HI, assistant(call()), user(result(), result())),
        say(HI, assistant(call(), call("toolu_2")), user(result(), result("toolu_2"))),
        "messages.2.content.1",
        "{path}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: toolu_1",
    ),
    row(
        "R29.result-without-call",
        say(HI, assistant({"type": "advisor_tool_result", "tool_use_id": "srvtoolu_9", "content": {}}, "Hm."), HI),
        say(HI, assistant(search("srvtoolu_9"), searched("srvtoolu_9"), "Hm."), HI),
        "messages.1.content.0",
        "{path}: unexpected `tool_use_id` found in `advisor_tool_result` blocks: srvtoolu_9. "
        "Each `advisor_tool_result` block must have a corresponding `server_tool_use` block before it.",
        betas=("advisor-tool-2026-03-01",),
    ),
    row(
        "R29.call-unfinished",
        say(HI, assistant(search()), user("And?")),
        say(HI, assistant(search()), tools=[SEARCH]),
        "messages.1.content.0",
        "`web_search` tool use with id `srvtoolu_1` was found without a corresponding `web_search_tool_result` block",
    ),
    row(
        "R29.tool-not-provided",
        say(HI, assistant(search())),
        say(HI, assistant(search()), tools=[SEARCH]),
        "messages.1.content.0",
        "`web_search` tool use with id `srvtoolu_1` was found without a corresponding `web_search_tool_result` block, "
        "but no `web_search` tool was provided",
    ),
]


A, B = call("A"), call("B")
RA, RB = result("A"), result("B")
SHAPES = [
    ("a result after text", [assistant(A), user("Hm.", RA)], "R26.unanswered"),
    ("text ends the leading results", [assistant(A, B), user(RA, "Hm."), user(RB)], "R26.unanswered"),
    ("results cross messages in any order", [assistant(A, B), user(RB), user(RA, "Hm.")], None),
    ("text in the next message", [assistant(A), user(RA), user("Hm.")], None),
    ("two assistant messages are one", [assistant(A), assistant(B), user(RA, RB)], None),
    ("nothing follows", [assistant(A)], "R26.unanswered"),
    ("results for two turns ago", [assistant(A), user(RA), OK, user(RA)], "R27.unexpected-result"),
]


@pytest.mark.parametrize(("messages", "rule"), [shape[1:] for shape in SHAPES], ids=[shape[0] for shape in SHAPES])
@accepts("rule:R26.unanswered")
@refuses("rule:R26.unanswered", "rule:R27.unexpected-result")
def test_the_measured_shapes_of_tool_pairing(messages: list[Any], rule: str | None) -> None:
    """R26: probe table M1, 2026-07-25."""
    violation = ask(request(**say(HI, *messages))).violation
    assert (violation and violation.rule) == rule


def ask_static(body: dict[str, Any], rule: str) -> list[str]:
    found = static_violations(json.dumps(body).encode(), headers(), asked=frozenset({rule}))
    return [violation.rule for violation in found]


@proves("rule:R30.tools-undefined", "rule:R31.text-after-tool-use")
@pytest.mark.parametrize(
    ("rule", "body"),
    [
        ("R30.tools-undefined", request(**say(HI, assistant(call()), user(result()), tools=ABSENT))),
        ("R31.text-after-tool-use", request(**say(HI, assistant(call(), "Wait."), user(result())))),
    ],
)
def test_rules_of_unknown_age_hold_only_for_those_who_ask(rule: str, body: dict[str, Any]) -> None:
    """R30, R31: reported, but not enforced by default."""
    assert ask_static(body, "") == []
    assert ask_static(body, rule) == [rule]
    assert ask_static(request(**say(HI, assistant(call(), "Wait."), user(result()), OK, HI)), rule) == []
    assert ask_static(request(), rule) == []
