"""Answers in one piece of backends that speak the Responses API."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clew.dialects.openai_responses.answers import read_answer
from clew.dialects.openai_responses.options import ResponsesOptions
from clew.model.events import StreamFailed
from tests.dialects.openai_responses.wire import (
    CONTEXT,
    USAGE,
    Json,
    call,
    done,
    ended,
    message,
    message_of,
    reasoning,
)


def answer(body: bytes) -> Any:
    return read_answer(body, "messages", CONTEXT, ResponsesOptions())


def response(*items: Json, **more: Any) -> bytes:
    return json.dumps({"id": "resp_b", "status": "completed", "output": items, "usage": USAGE, **more}).encode()


ITEMS = [
    reasoning("rs_1", "why", "and"),
    message("Hi", phase="commentary"),
    call('{"a":1}'),
    reasoning("rs_2"),
    message("End"),
]


def test_a_whole_answer_is_the_message_of_its_stream() -> None:
    assert answer(response(*ITEMS)) == message_of([done(at, item) for at, item in enumerate(ITEMS)], ended())


def test_an_answer_that_failed_is_its_failure() -> None:
    failed = answer(response(status="failed", error={"code": "server_is_overloaded", "message": "Busy"}))
    assert isinstance(failed, StreamFailed)
    assert (failed.status, failed.error["message"]) == (529, "Busy")


def test_an_answer_that_is_incomplete_says_why() -> None:
    assert answer(response(message("Hi"), status="incomplete", incomplete_details={"reason": "content_filter"}))[
        "stop_reason"
    ] == ("refusal")


@pytest.mark.parametrize("body", [b"", b"nonsense", b"[]", b"{}", b'{"choices":[]}', b'{"output":{}}'])
def test_a_body_that_is_no_answer_is_broken(body: bytes) -> None:
    failed = answer(body)
    assert isinstance(failed, StreamFailed)
    assert failed.broken


def test_an_error_in_place_of_an_answer_is_told() -> None:
    failed = answer(b'{"error":{"code":"rate_limit_exceeded","message":"slow down"}}')
    assert isinstance(failed, StreamFailed)
    assert failed.status == 429


def test_a_call_that_is_no_json_is_a_failure() -> None:
    failed = answer(response(call('{"a":')))
    assert isinstance(failed, StreamFailed)
    assert failed.status == 502
