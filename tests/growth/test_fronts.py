"""Requests and answers of clients of Chat Completions, with n and 4n of each thing they can repeat."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from clew.dialects.openai_chat.answers import write_answer
from clew.dialects.openai_chat.requests import read_request
from clew.dialects.openai_chat.streams import ChatStreamWriter
from clew.dialects.shape import AnswerContext
from clew.model.unfold import events_of
from clew.pipeline.project import project
from tests.build import OPUS, target
from tests.growth.work import check_growth

N = 32
pytestmark = pytest.mark.slow

Json = dict[str, Any]
USER: Json = {"role": "user", "content": "Hi", "name": "ann"}
IMAGE: Json = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "high"}}


def _call(at: int) -> Json:
    return {"id": f"c{at}", "type": "function", "function": {"name": "f", "arguments": '{"q": 1}'}}


def _result(at: int) -> Json:
    return {"role": "tool", "tool_call_id": f"c{at}", "content": "ok"}


def _detail(at: int) -> Json:
    return {"type": "reasoning.text", "index": at, "text": "Hm.", "signature": "S"}


def _function(at: int) -> Json:
    return {"type": "function", "function": {"name": f"f{at}", "parameters": {"type": "object"}, "examples": [1]}}


REQUESTS: dict[str, Callable[[int], Json]] = {
    "messages": lambda n: {"messages": [USER, {"role": "assistant", "content": "Yes."}] * n + [USER]},
    "system messages": lambda n: {"messages": [USER, *[{"role": "system", "content": "A"}] * n, USER]},
    "system messages, here and there": lambda n: {"messages": [USER, {"role": "developer", "content": "A"}] * n + [USER]},
    "parts": lambda n: {"messages": [{"role": "user", "content": [{"type": "text", "text": "x", "color": 1}] * n}]},
    "images": lambda n: {"messages": [{"role": "user", "content": [IMAGE] * n}]},
    "calls": lambda n: {
        "messages": [USER, {"role": "assistant", "tool_calls": [*map(_call, range(n))]}, *map(_result, range(n))]
    },
    "rounds": lambda n: {
        "messages": [
            USER,
            *[each for at in range(n) for each in ({"role": "assistant", "tool_calls": [_call(at)]}, _result(at))],
        ]
    },
    "functions": lambda n: {
        "functions": [{"name": "f"}],
        "messages": [
            USER,
            *[
                {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}},
                {"role": "function", "name": "f", "content": "ok"},
            ]
            * n,
        ],
    },
    "details": lambda n: {
        "messages": [USER, {"role": "assistant", "content": "A", "reasoning_details": [*map(_detail, range(n))]}, USER]
    },
    "tools": lambda n: {"messages": [USER], "tools": [*map(_function, range(n))]},
    "fields": lambda n: {"messages": [USER], **{f"wish_{at}": 1 for at in range(n)}},
}


def _read(raw: bytes) -> None:
    assert project(read_request(raw, {}), target(OPUS)).body


@pytest.mark.parametrize("what", REQUESTS)
def test_a_request_costs_work_in_proportion(what: str) -> None:
    check_growth(lambda n: json.dumps({"model": "claude-opus-5-5", **REQUESTS[what](n)}).encode(), _read, N)


ANSWERS: dict[str, Callable[[int], list[Json]]] = {
    "text": lambda n: [{"type": "text", "text": "word " * n}],
    "texts": lambda n: [{"type": "text", "text": "word"}] * n,
    "thoughts": lambda n: [{"type": "thinking", "thinking": "Hm.", "signature": "S"}] * n,
    "a thought": lambda n: [{"type": "thinking", "thinking": "Hm. " * n, "signature": "S"}],
    "calls": lambda n: [{"type": "tool_use", "id": f"c{at}", "name": "f", "input": {"q": at}} for at in range(n)],
    "a call": lambda n: [{"type": "tool_use", "id": "c", "name": "f", "input": {"q": "x" * n}}],
}


def _write(message: Json) -> None:
    context = AnswerContext(model="m")
    writer = ChatStreamWriter(context)
    for event in events_of(message, chunk=4):
        writer.write(event)
    write_answer(message, context)


@pytest.mark.parametrize("what", ANSWERS)
def test_an_answer_costs_work_in_proportion(what: str) -> None:
    head: Json = {"role": "assistant", "stop_reason": "end_turn", "usage": {}}
    check_growth(lambda n: {**head, "content": ANSWERS[what](n)}, _write, N)
