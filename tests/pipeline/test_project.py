"""The projection as a whole: the order of its steps, and what comes of it."""

from __future__ import annotations

import json

import pytest

from clew import project
from clew.errors import RequestInvalid
from clew.model.change import Change
from clew.model.origin import Origin
from clew.pipeline.project import default_steps
from clew.thinking.compliance import check
from tests.build import OPUS, Json, assistant, raw, request, system, target, thinking, tool_result, tool_use, user

HAIKU = Origin(realm="anthropic", backend="claude", model="claude-haiku-4-5", account="me")
TOOLS = [{"name": "Bash", "input_schema": {"type": "object"}}]


def test_a_legal_request_goes_out_as_the_bytes_that_came() -> None:
    body = raw(user("hi"), assistant("a", tool_use("t1")), user(tool_result("t1")), tools=TOOLS)

    going = project(body, target(OPUS))

    assert going.body is body
    assert going.changes == ()


@pytest.mark.parametrize(
    "messages",
    [
        [user("q"), assistant(tool_use("t1")), system("note"), user(tool_result("t1"))],
        [
            user("q"),
            assistant(tool_use("t1"), tool_use("t2")),
            user(tool_result("t1")),
            system("n"),
            user(tool_result("t2")),
        ],
        [user("q"), assistant("a", thinking("x", ""))],
    ],
    ids=["a system message before the result", "results around a system message", "unsigned thinking at the end"],
)
def test_what_is_folded_is_still_paired(messages: list[Json]) -> None:
    """The order of the steps: content is settled before system messages are folded, and those before results are paired."""
    going = project(raw(*messages, model=HAIKU.model, tools=TOOLS), target(HAIKU))

    assert [violation for violation in check(going.body) if violation.rule.startswith(("R2", "R3"))] == []


def test_the_backends_own_name_for_the_model_is_set() -> None:
    going = project(raw(user("hi"), model="claude-opus-5-5"), target(OPUS, model="claude-opus-5-5-20260801"))

    assert json.loads(going.body)["model"] == "claude-opus-5-5-20260801"
    assert going.changes == (Change("model", "model", "set", "claude serves 'claude-opus-5-5-20260801'"),)


def test_a_request_may_be_bytes_an_object_or_parsed() -> None:
    body = raw(user("hi"))

    assert (
        project(json.loads(body), target()).changes
        == project(body, target()).changes
        == project(request(user("hi")), target()).changes
    )


def test_what_cannot_be_read_is_refused_with_its_place() -> None:
    with pytest.raises(RequestInvalid, match=r"messages\.0\.role"):
        project(b'{"messages":[{"role":5}]}', target())


@pytest.mark.parametrize(
    "content", ["\ud800", float("nan"), float("inf"), object()], ids=["surrogate", "nan", "inf", "object"]
)
def test_an_object_that_json_cannot_say_is_refused_and_never_altered(content: object) -> None:
    """NaN used to become null without a word."""
    with pytest.raises(RequestInvalid, match="cannot be written as JSON"):
        project({"messages": [{"role": "user", "content": content}]}, target())


@pytest.mark.parametrize("words", ["\\ud800", "abc \\udfff d"])
def test_a_lone_surrogate_in_the_bytes_is_refused(words: str) -> None:
    body = f'{{"messages":[{{"role":"user","content":[{{"type":"text","text":"{words}"}}]}}]}}'.encode()
    with pytest.raises(RequestInvalid, match="lone surrogate"):
        project(body, target())


def test_every_step_is_named_and_none_stands_twice() -> None:
    names = [step.__name__ for step in default_steps()]

    assert len(set(names)) == len(names)
    assert names[1] == "keep_thinking", "thinking is settled on the client's own messages"
