"""The open tool loop: where it begins, and what becomes of manual thinking that it cannot have."""

import json
from typing import Any

import pytest

from clew.model.change import Change
from clew.model.facts import models
from clew.pipeline.thinking_parameter import cannot_think, loop_parameter, loop_start, without_loop_thinking
from clew.wire.requests import encode
from tests.build import assistant, redacted, request, system, text, thinking, tool_result, tool_use, user
from tests.manifest import proves
from tests.pipeline.targets import run

T, R = thinking("hmm"), redacted("abc")
MANUAL = {"type": "enabled", "budget_tokens": 2000}
ADAPTIVE = {"type": "adaptive"}
OFF = {"type": "disabled"}
CALL, RESULT = tool_use("t1"), tool_result("t1")
FILLER = {"type": "text", "text": "[No message content]", "citations": []}


@pytest.mark.parametrize(
    ("messages", "start"),
    [
        ([], None),
        ([user("hi")], None),
        ([user("hi"), assistant(CALL), user(RESULT)], 1),
        ([user("hi"), assistant(CALL), user(RESULT, "and a remark")], 1),
        ([user("hi"), assistant(CALL), user("stop")], None),
        ([user("hi"), assistant(CALL), user(RESULT), user("stop")], None),
        ([user("hi"), assistant("a"), user("b"), assistant(CALL), user(RESULT), assistant(CALL), user(RESULT)], 3),
        ([user("hi"), assistant(CALL), user(RESULT), system("by the way")], 1),
        ([user("hi"), system("be"), assistant(CALL), system("x"), user(RESULT)], 2),
        ([user("hi"), assistant("prefill")], 1),
        ([assistant(CALL), user(RESULT)], 0),
        ([user("hi"), assistant("a"), assistant(CALL), user(RESULT)], 1),
    ],
)
def test_the_loop_begins_with_the_first_answer_since_a_person_spoke(messages: list, start: int | None) -> None:
    """Design §4: after the last user message without a tool_result; system messages and remarks do not count."""
    assert loop_start(request(*messages).messages) == start


@pytest.mark.parametrize(
    ("messages", "refused"),
    [
        ([user("hi")], False),
        ([user("hi"), assistant(T, CALL), user(RESULT)], False),
        ([user("hi"), assistant(R, CALL), user(RESULT)], False),
        ([user("hi"), assistant(CALL), user(RESULT)], True),
        ([user("hi"), assistant("a", CALL), user(RESULT)], True),
        ([user("hi"), assistant("a", T, CALL), user(RESULT)], True),
        ([user("hi"), assistant(T, CALL), user(RESULT), assistant(CALL), user(RESULT)], False),
        ([user("hi"), assistant(CALL), user(RESULT), assistant(T, CALL), user(RESULT)], True),
        ([user("hi"), assistant(), assistant(T, CALL), user(RESULT)], False),
        ([user("hi"), assistant(), assistant("a", CALL), user(RESULT)], True),
        ([user("hi"), assistant(), user(RESULT)], False),
        ([user("hi"), {"role": "assistant", "content": "a string"}], True),
        ([user("hi"), assistant(T, CALL), user(RESULT), assistant("so")], True),
        ([user("hi"), assistant(T, CALL), user(RESULT), assistant(T, "so")], False),
        ([user("hi"), assistant("a"), user("b")], False),
        ([user("hi"), assistant("searched"), system("go on")], False),
    ],
)
def test_manual_thinking_is_refused_where_the_loop_does_not_begin_with_it(messages: list, refused: bool) -> None:
    """R35: the answer that opens the loop, and an answer that ends the request."""
    assert cannot_think(request(*messages).messages) == refused


LOOP = [user("hi"), assistant(CALL), user(RESULT), assistant(T, tool_use("t2")), user(tool_result("t2"))]
EDIT = {"type": "clear_thinking_20251015", "keep": "all"}


@proves("req:S4-28")
@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("claude-haiku-4-5", OFF),
        ("claude-sonnet-4-5", OFF),
        ("claude-opus-4-5", OFF),
        ("claude-opus-4-6", OFF),
        ("claude-sonnet-4-6", OFF),
        ("claude-mythos-preview", ADAPTIVE),
    ],
)
def test_thinking_is_off_in_the_models_own_way_until_the_loop_ends(name: str, sent: dict[str, Any]) -> None:
    """C12: no block is invented; the same for each request of the loop, and on again with the next turn."""
    for end in (3, 5):
        body, changes = run(loop_parameter, request(*LOOP[:end], thinking=MANUAL, max_tokens=8000), name)
        assert body["thinking"] == sent
        assert changes[0].why == "with a thinking budget, an open tool loop must begin with thinking (R35)"
    after = [*LOOP, assistant("done"), user("next")]
    assert run(loop_parameter, request(*after, thinking=MANUAL, max_tokens=8000), name)[1] == ()


def test_every_model_with_a_manual_mode_has_its_row() -> None:
    """A new one in the table is to be thought about."""
    manual = {name for name, profile in models().items() if "enabled" in profile.thinking and not profile.retired}
    assert manual == {
        "claude-haiku-4-5",
        "claude-sonnet-4-5",
        "claude-opus-4-5",
        "claude-opus-4-6",
        "claude-sonnet-4-6",
        "claude-mythos-preview",
        "unknown",
    }


def test_off_takes_everything_that_needs_thinking_with_it() -> None:
    """R38, R52: display, the edit, and the loop's own blocks, each a Change; earlier turns keep theirs."""
    before = [user("q"), assistant(T, "a")]
    fields = {"thinking": MANUAL | {"display": "updates"}, "context_management": {"edits": [EDIT, {"type": "other"}]}}
    body, changes = run(loop_parameter, request(*before, *LOOP, max_tokens=8000, **fields), "claude-haiku-4-5")
    assert body["thinking"] == OFF
    assert body["context_management"] == {"edits": [{"type": "other"}]}
    assert body["messages"] == [*before, *LOOP[:3], assistant(tool_use("t2")), LOOP[4]]
    assert [(change.path, change.what) for change in changes] == [
        ("thinking", "set"),
        ("context_management.edits.0", "removed"),
        ("messages.5.content.0", "left out"),
    ]


def test_a_model_that_cannot_be_off_keeps_its_blocks_and_edits() -> None:
    """Mythos Preview: adaptive thinking has no such rule, and the edit stays legal."""
    fields = {"thinking": MANUAL | {"display": "omitted"}, "context_management": {"edits": [EDIT]}}
    body, changes = run(loop_parameter, request(*LOOP, max_tokens=8000, **fields), "claude-mythos-preview")
    assert body["thinking"] == {"type": "adaptive", "display": "omitted"}
    assert body["output_config"] == {"effort": "low"}
    assert body["context_management"] == {"edits": [EDIT]}
    assert body["messages"] == LOOP
    assert [change.path for change in changes] == ["thinking", "output_config.effort"]


@pytest.mark.parametrize("name", ["claude-opus-5-5", "claude-opus-4-6", "qwen3-32b"])
@pytest.mark.parametrize("setting", [ADAPTIVE, None])
def test_adaptive_thinking_needs_no_lead(name: str, setting: dict[str, Any] | None) -> None:
    """R35 is a rule of manual mode alone."""
    fields = {} if setting is None else {"thinking": setting}
    assert run(loop_parameter, request(*LOOP, **fields), name)[1] == ()


def test_a_client_that_switched_thinking_off_loses_the_loops_blocks_where_they_are_refused() -> None:
    """R38, C-8: models before 4.6 refuse them; newer ones leave them out themselves."""
    body, changes = run(loop_parameter, request(*LOOP, thinking=OFF), "claude-sonnet-4-5")
    assert body["messages"] == [*LOOP[:3], assistant(tool_use("t2")), LOOP[4]]
    assert changes == (
        Change("thinking_parameter", "messages.3.content.0", "left out", "thinking is off for this tool loop (R38)"),
    )
    assert run(loop_parameter, request(*LOOP), "claude-sonnet-4-5")[1] == changes
    assert run(loop_parameter, request(*LOOP, thinking=OFF), "claude-opus-4-6")[1] == ()


@pytest.mark.parametrize("content", [[T, R], [T, text(" ")], [text("\n"), R]])
def test_an_answer_that_says_nothing_without_its_thinking_becomes_the_filler(content: list) -> None:
    """C13, R22: white space that stood beside thinking may not stand alone (found by the laws' random requests)."""
    given = request(user("hi"), assistant(CALL), user(RESULT), assistant(*content))
    sent, _ = without_loop_thinking(given, step="x", why="y")
    assert json.loads(encode(sent))["messages"][3] == assistant(FILLER)


def test_without_a_loop_nothing_is_left_out() -> None:
    given = request(user("hi"), assistant(T, text("a")), user("b"))
    assert without_loop_thinking(given, step="x", why="y") == (given, ())
