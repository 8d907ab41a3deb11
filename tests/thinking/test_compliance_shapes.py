"""The compliance check on the shapes that the rule book lists: empty and blank content, tool results, system messages."""

from __future__ import annotations

from typing import Any

import pytest

from clew.thinking.compliance import check
from tests.build import Json, assistant, text, thinking, tool_result, tool_use, user
from tests.conversations.asked import OLD, OPUS, OPUS_5, ask
from tests.conversations.rulebook.roles import DIRECTIVE, FOUND, IMAGE, SEARCH
from tests.conversations.rulebook.shapes import SET_OUTPUT, system
from tests.manifest import accepts, proves, refuses


def rules_of(*messages: Json, **fields: Any) -> list[str]:
    asked = ask(*messages, **{"betas": SET_OUTPUT} | fields)
    return [violation.rule for violation in check(asked.raw, headers=asked.headers)]


# ── R22: empty and blank content

E1, E2, E3 = "R22.empty-text", "R22.blank-text", "R22.user-empty"


def said(role: str, content: Any) -> Json:
    return {"role": role, "content": content}


def in_place(role: str, content: Any) -> tuple[Json, ...]:
    """A message of this role where it may stand."""
    middle = said(role, content)
    return {
        "user": (middle,),
        "assistant": (user("a"), middle, user("b")),
        "system": (user("a"), middle),
    }[role]


@proves("rule:R22.empty-text", "rule:R22.blank-text", "rule:R22.user-empty", "conflict:C-3")
@pytest.mark.parametrize(
    ("role", "content", "found"),
    [
        ("user", [text("")], [E1]),
        ("user", [text("a"), text("")], [E1]),
        ("user", [text(""), IMAGE], [E1]),
        ("assistant", [text("")], [E1]),
        ("assistant", [thinking("hm"), text("")], [E1]),
        ("system", [text("a"), text("")], [E1]),
        ("user", "\n", [E2]),
        ("user", [text(" ")], [E2]),
        ("user", [text(" "), text("\t")], [E2]),
        ("user", [text("\u00a0\u2003")], [E2]),
        ("assistant", [text(" ")], [E2]),
        ("assistant", " ", [E2]),
        ("system", " ", [E2]),
        ("user", [text(" "), text("a")], []),
        ("user", [text(" "), IMAGE], []),
        ("assistant", [text(" "), thinking("hm")], []),
        ("user", "", [E3]),
        ("user", [], [E3]),
        ("assistant", "", []),
        ("assistant", [], []),
    ],
)
def test_empty_and_blank_content(role: str, content: Any, found: list[str]) -> None:
    """The matrix of R22 (measured in September 2026), for each role where it may stand."""
    assert rules_of(*in_place(role, content)) == found


@accepts("rule:R22.blank-text")
def test_white_space_beside_a_call_is_legal() -> None:
    """R22: a blank block beside a tool_use."""
    assert rules_of(user("a"), assistant(text(" "), tool_use("t1")), user(tool_result("t1"))) == []


@accepts("rule:R22.empty-text", "rule:R22.blank-text")
@pytest.mark.parametrize("content", ["", [], " ", [text("")], [text(" ")], ...])
def test_a_tool_result_may_be_empty(content: Any) -> None:
    """R22: empty, blank or absent content of a tool_result is legal."""
    result = tool_result("t1") | {"content": content}
    whole = {key: value for key, value in result.items() if value is not ...}
    assert rules_of(user("a"), assistant(tool_use("t1")), user(whole)) == []


@refuses("rule:R22.empty-text-cached")
def test_a_mark_on_an_empty_text_is_named_before_its_emptiness() -> None:
    """R22: both rules are broken, and the mark's comes first."""
    cached = text("", cache_control={"type": "ephemeral"})
    assert rules_of(user(text("a"), cached)) == ["R22.empty-text-cached", "R22.empty-text"]


# ── R26–R28: calls and results

T1, T2 = tool_use("t1"), tool_use("t2")
A1, A2 = tool_result("t1"), tool_result("t2")
WELL = text("well")


@proves("rule:R26.unanswered", "rule:R27.unexpected-result", "rule:R28.result-repeated", "rule:R25.ids-not-unique")
@pytest.mark.parametrize(
    ("messages", "found"),
    [
        ([assistant(T1), user(WELL, A1)], ["R26.unanswered"]),
        ([assistant(T1, T2), user(A1, WELL), user(A2)], ["R26.unanswered"]),
        ([assistant(T1, T2), user(A2), user(A1, WELL)], []),
        ([assistant(T1), user(A1), user(WELL)], []),
        ([assistant(T1), user(A1, WELL)], []),
        ([assistant(T1, T2), user(A2, A1)], []),
        ([assistant(T1), assistant(T2), user(A2, A1)], []),
        ([assistant(T1), user("never mind"), user(A1)], ["R26.unanswered"]),
        ([assistant(T1)], ["R26.unanswered"]),
        ([assistant(T1), user(A2)], ["R26.unanswered", "R27.unexpected-result"]),
        ([user(A1)], ["R27.unexpected-result"]),
        ([assistant(T1), user(A1), assistant("b"), user(A1)], ["R27.unexpected-result"]),
        ([assistant(T1), user(A1, A1)], ["R28.result-repeated"]),
        ([assistant(T1), user(A1), user(WELL, A1)], ["R28.result-repeated"]),
        ([assistant(T1, T1), user(A1)], ["R25.ids-not-unique"]),
        ([assistant(T1, WELL), user(A1)], []),
    ],
)
def test_calls_and_results(messages: list[Json], found: list[str]) -> None:
    """The shapes of R26 (measured in July 2026), and their neighbours; user messages in a row are one stream."""
    assert rules_of(user("a"), *messages, model=OLD) == found


@refuses("rule:R26.unanswered")
def test_an_unanswered_run_names_its_first_open_call_and_all_ids() -> None:
    """R26: the index is the assistant message's."""
    asked = ask(user("a"), assistant(T1), assistant(T2, tool_use("t3")), user(A1))
    found = check(asked.raw, headers=asked.headers)
    assert [(each.path, each.words) for each in found] == [
        (
            "messages.2",
            "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: t2, t3. Each `tool_use` "
            "block must have a corresponding `tool_result` block in the next message.",
        )
    ]


# ── R32: where system messages may stand

CALL, RESULT = assistant(T1), user(A1)
SEARCHED = assistant(SEARCH, FOUND)


@proves(
    "rule:R32.follows-wrong-turn",
    "rule:R32.precedes-wrong-turn",
    "rule:R32.between-tool-use-and-result",
    "rule:R19.leading-system",
    "rule:R32.no-content",
)
@pytest.mark.parametrize(
    ("messages", "found"),
    [
        ([user("a"), system()], []),
        ([user("a"), system(), assistant("b"), user("c")], []),
        ([user("a"), system(), system(), assistant("b"), user("c")], []),
        ([user("a"), CALL, RESULT, system()], []),
        ([user("a"), SEARCHED, system()], []),
        ([user("a"), SEARCHED, system(), assistant("b"), user("c")], []),
        ([user("a"), system(), user("b")], ["R32.precedes-wrong-turn"]),
        ([user("a"), assistant("b"), system()], ["R32.follows-wrong-turn"]),
        ([user("a"), assistant("b"), system(), user("c")], ["R32.follows-wrong-turn", "R32.precedes-wrong-turn"]),
        ([user("a"), SEARCHED, system(), user("c")], ["R32.precedes-wrong-turn"]),
        ([user("a"), CALL, system(), RESULT], ["R32.between-tool-use-and-result"]),
        (
            [user("a"), CALL, system(), user("b")],
            ["R32.follows-wrong-turn", "R32.precedes-wrong-turn", "R26.unanswered"],
        ),
        (
            [user("a"), assistant("b"), system(), RESULT],
            ["R32.follows-wrong-turn", "R32.precedes-wrong-turn", "R27.unexpected-result"],
        ),
        ([user("a"), CALL, DIRECTIVE, RESULT], []),
        ([user("a"), assistant("b"), DIRECTIVE, user("c")], []),
        ([DIRECTIVE, user("a")], []),
        ([system(), user("a")], ["R19.leading-system"]),
        ([system(), system(), user("a")], ["R19.leading-system", "R32.precedes-wrong-turn"]),
        ([user("a"), system(content="")], ["R32.no-content"]),
        ([user("a"), system(content=[], output_config={"effort": None})], ["R32.no-content"]),
        ([user("a"), {"role": "system", "output_config": {"effort": "low"}}], []),
    ],
)
def test_system_messages_have_their_places(messages: list[Json], found: list[str]) -> None:
    """R32: after a user turn or a server tool's result, last or before the assistant, never inside a tool loop."""
    assert rules_of(*messages) == found


# ── R35, R37, R38: thinking and the last message

HM = thinking("hm", "s1g")
MANUAL = {"model": OLD, "max_tokens": 3000, "thinking": {"type": "enabled", "budget_tokens": 2000}}


@proves(
    "rule:R35.tool-loop", "rule:R35.final-message", "rule:R37.last-message", "rule:R38.thinking-while-off", "conflict:C-8"
)
@pytest.mark.parametrize(
    ("messages", "fields", "found"),
    [
        ([CALL, RESULT], MANUAL, ["R35.tool-loop"]),
        ([assistant(HM, T1), RESULT], MANUAL, []),
        ([assistant(HM, T1), RESULT, assistant(T2), user(A2)], MANUAL, []),
        ([CALL, RESULT, user("c"), assistant(HM, T2), user(A2)], MANUAL, []),
        ([CALL, RESULT, user("c")], MANUAL, []),
        ([CALL, RESULT], {"model": OPUS}, []),
        ([assistant(HM, T1), RESULT], {"model": OLD}, ["R38.thinking-while-off"]),
        ([assistant(HM, T1), RESULT, user("c")], {"model": OLD}, []),
        ([assistant(HM, T1), RESULT], {"model": OPUS_5, "thinking": {"type": "disabled"}}, []),
        ([assistant(HM, text("b")), user("c"), CALL, RESULT], {"model": OLD}, []),
        ([assistant("b ")], {"model": OPUS}, ["R20.prefill"]),
        ([assistant(HM)], MANUAL, ["R37.last-message", "R20.prefill-with-thinking"]),
        ([assistant(HM), assistant("b")], {"model": OLD}, ["R38.thinking-while-off"]),
        ([assistant(HM), user("c"), assistant(HM), user("d")], {"model": OPUS}, []),
    ],
)
def test_thinking_in_the_tool_loop(messages: list[Json], fields: Json, found: list[str]) -> None:
    """Manual mode wants it first, adaptive mode does not care, older models refuse it while thinking is off."""
    assert rules_of(user("a"), *messages, **fields) == found
