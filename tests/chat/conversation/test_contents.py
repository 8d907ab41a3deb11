"""What a user can say, and what a tool can give."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clew import document, image
from clew.chat.hearing import broken_off, in_their_words
from clew.chat.messages import result_block, user_message
from clew.errors import (
    BackendBroken,
    BackendOverloaded,
    BackendRejected,
    BackendTimedOut,
    ClewError,
    RequestInvalid,
    Unrepresentable,
)

WORDS = b'{"type": "error", "error": {"type": "x", "message": "no"}}'


def test_words_stay_words_and_among_blocks_become_one() -> None:
    block = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
    assert json.loads(user_message("Hello")) == {"role": "user", "content": "Hello"}
    assert json.loads(user_message(["See:", block]))["content"] == [{"type": "text", "text": "See:"}, block]


@pytest.mark.parametrize(
    "content",
    ["", [], [{"type": "text", "text": ...}], {"type": "text", "text": "Hi"}, b"Hi", [None], [["Hi"]]],
    ids=repr,
)
def test_what_cannot_be_said_is_refused(content: Any) -> None:
    with pytest.raises(RequestInvalid):
        user_message(content)


def test_files_become_blocks(tmp_path: Path) -> None:
    paths = [tmp_path / "a.jpg", tmp_path / "a.pdf"]
    for path in paths:
        path.write_bytes(b"bytes")
    source = {"type": "base64", "data": "Ynl0ZXM="}
    assert image(paths[0]) == {"type": "image", "source": {**source, "media_type": "image/jpeg"}}
    assert document(str(paths[1])) == {"type": "document", "source": {**source, "media_type": "application/pdf"}}


@pytest.mark.parametrize(
    ("output", "content"),
    [
        ("fine", "fine"),
        ({"data": "…"}, '{"data": "…"}'),
        ([1, 2], "[1, 2]"),
        ([], "[]"),
        (None, "null"),
        ([{"type": "text", "text": "fine"}], [{"type": "text", "text": "fine"}]),
    ],
)
def test_a_tools_result_is_text_or_blocks(output: Any, content: Any) -> None:
    assert result_block("t1", output) == {"type": "tool_result", "tool_use_id": "t1", "content": content}


def test_a_tool_that_failed_says_so() -> None:
    error = {"type": "tool_result", "tool_use_id": "t1", "is_error": True}
    assert result_block("t1", ValueError("no")) == {**error, "content": "no"}
    assert result_block("t1", ValueError()) == {**error, "content": "ValueError"}
    with pytest.raises(RequestInvalid):
        result_block("t1", float("nan"))


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (BackendRejected("a refused (400)", status=400, body=WORDS), BackendRejected),
        (
            BackendOverloaded("a is overloaded or over its rate limit (429)", status=429, retry_after=7.0, body=WORDS),
            BackendOverloaded,
        ),
        (BackendRejected("a refused (502)", status=502, body=WORDS), BackendBroken),
    ],
)
def test_a_refusal_is_raised_as_what_it_was_in_the_vendors_words(failure: ClewError, kind: type[Exception]) -> None:
    error = in_their_words(failure)
    assert (type(error), str(error)) == (kind, "no")
    assert getattr(error, "retry_after", None) == getattr(failure, "retry_after", None)


def test_a_refusal_without_words_has_ours() -> None:
    failure = BackendRejected("a refused (400)", status=400, body=b"<html>")
    assert (in_their_words(failure), str(failure)) == (failure, "a refused (400)")
    ours = Unrepresentable("there are no words for that")
    assert in_their_words(ours) is ours


def test_an_error_in_a_stream_is_raised_as_what_it_was() -> None:
    kinds = [
        type(broken_off({"type": each})) for each in ("overloaded_error", "rate_limit_error", "timeout_error", "api_error")
    ]
    assert kinds == [BackendOverloaded, BackendOverloaded, BackendTimedOut, BackendBroken]
