"""`thinking_first`: unsigned thinking in front of a message that calls tools, for targets that take it; and never more."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clew import Facts, Options, Target, profile_for, project
from tests.build import assistant, redacted, text, thinking, tool_result, tool_use, user
from tests.manifest import proves, public

REORDER = Facts(options=Options(thinking_first="reorder"))
KIMI = Target(backend="kimi", model="kimi-k3", profile=profile_for("kimi-k3"), realm="kimi", signed=False)
CHAT = Target(backend="kimi", model="kimi-k3", profile=profile_for("kimi-k3"), realm="kimi", dialect="openai-chat")
CLAUDE = Target(backend="claude", model="claude-opus-5-5", profile=profile_for("claude-opus-5-5"))
UNSIGNED = thinking("I need the tool.", "")
CALL = tool_use("c1")


def projected(answer: Any, target: Target, facts: Facts | None = REORDER) -> tuple[list[str], list[tuple[str, str, str]]]:
    """The types of the answer's blocks as they go, and the changes of messages."""
    results = [tool_result("c1")] if CALL in answer["content"] else []
    body = {"model": target.model, "max_tokens": 9000, "messages": [user("Go."), answer, user(*results, "And?")]}
    projection = project(body, target, facts)
    blocks = json.loads(projection.body)["messages"][1]["content"]
    changes = [(each.step, each.path, each.what) for each in projection.changes if each.path.startswith("messages")]
    return [block["type"] for block in blocks], changes


@public("library")
@proves("req:S4-25", "req:S4-27", "req:S4-29")
@pytest.mark.parametrize("target", [KIMI, CHAT], ids=["anthropic", "openai-chat"])
def test_unsigned_thinking_comes_first_for_a_target_that_takes_it(target: Target) -> None:
    """S4-25, S4-27: all of it, in its order, and the rest in its order; S4-29: although the tool structure is valid."""
    answer = assistant("a", UNSIGNED, "b", thinking("So."), CALL)
    answer["content"][3]["signature"] = ""
    types, changes = projected(answer, target)
    assert types == ["thinking", "thinking", "text", "text", "tool_use"]
    assert changes == [
        ("thinking_first", "messages.1.content.1", "moved"),
        ("thinking_first", "messages.1.content.3", "moved"),
    ]


@public("library")
@proves("req:S4-23", "req:S4-24", "req:S4-26", "req:S4-28")
@pytest.mark.parametrize(
    "answer",
    [
        assistant("a", UNSIGNED, "b"),
        assistant(UNSIGNED, "a", CALL),
        assistant(UNSIGNED, "a", UNSIGNED, CALL),
        assistant("a", CALL),
    ],
    ids=["no-call", "first", "first-and-later", "no-thinking"],
)
def test_these_stay_as_they_are(answer: Any) -> None:
    """S4-23, S4-24; S4-28: where there is no thinking, none is made up."""
    assert projected(answer, KIMI) == ([block["type"] for block in answer["content"]], [])


@public("library")
@proves("req:S4-30", "req:S4-26")
@pytest.mark.parametrize("signed", [thinking("Hm.", "c2ln"), redacted("ZW5j")], ids=["thinking", "redacted"])
def test_no_signed_block_is_moved(signed: Any) -> None:
    """S4-30; S4-26: redacted thinking is thinking, and its data is a proof."""
    types, changes = projected(assistant("a", signed, CALL), CLAUDE)
    assert (types, changes) == (["text", signed["type"], "tool_use"], [])


@public("library")
@proves("req:S4-30", "req:S4-22", "req:C14")
def test_claude_gets_no_thinking_without_a_signature_in_either_mode() -> None:
    answer = assistant("a", UNSIGNED, CALL)
    left = (["text", "tool_use"], [("thinking", "messages.1.content.1", "left out")])
    assert projected(answer, CLAUDE) == projected(answer, CLAUDE, Facts()) == left


@proves("req:S4-30")
def test_by_default_no_target_gets_unsigned_thinking() -> None:
    """Nobody knows who made it."""
    types, [change] = projected(assistant("a", UNSIGNED, CALL), KIMI, Facts())
    assert (types, change) == (["text", "tool_use"], ("thinking", "messages.1.content.1", "left out"))


@proves("req:S4-30")
def test_where_foreign_thinking_is_said_as_text_unsigned_thinking_is_too() -> None:
    as_text = Target(backend="claude", model="claude-opus-5-5", profile=CLAUDE.profile, foreign="text")
    answer = assistant("a", UNSIGNED, CALL)
    types, [change] = projected(answer, as_text)
    assert (types, change) == (["text", "text", "tool_use"], ("thinking", "messages.1.content.1", "handed over"))
    assert projected(answer, as_text, Facts())[0] == ["text", "tool_use"]


@proves("req:S4-28")
def test_blank_thinking_is_no_thinking() -> None:
    assert projected(assistant("a", thinking(" ", ""), CALL), KIMI)[0] == ["text", "tool_use"]


def test_the_words_of_the_blocks_stay_as_they_were() -> None:
    """Moved as the bytes that came."""
    body = {
        "model": "kimi-k3",
        "max_tokens": 9,
        "messages": [user("Go."), assistant("a", UNSIGNED, CALL), user(tool_result("c1"))],
    }
    sent = json.loads(project(body, KIMI, REORDER).body)["messages"][1]
    assert sent == {"role": "assistant", "content": [UNSIGNED, text("a"), CALL]}
