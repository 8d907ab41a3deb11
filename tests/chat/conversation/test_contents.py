"""What a user can say, and what a tool can give."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clew import document, image
from clew.chat.contents import result_block, user_message
from clew.chat.failures import broken_off, refused
from clew.errors import BackendBroken, BackendOverloaded, BackendRejected, BackendTimedOut, RequestInvalid


def test_words_stay_words_and_among_blocks_become_one() -> None:
    block = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
    assert json.loads(user_message("Hello")) == {"role": "user", "content": "Hello"}
    assert json.loads(user_message(["See:", block]))["content"] == [{"type": "text", "text": "See:"}, block]


@pytest.mark.parametrize("content", ["", [], [{"type": "text", "text": object()}]])
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
    ("status", "kind"),
    [
        (400, BackendRejected),
        (429, BackendOverloaded),
        (529, BackendOverloaded),
        (504, BackendTimedOut),
        (502, BackendBroken),
    ],
)
def test_a_refusal_is_raised_as_what_it_was(status: int, kind: type[Exception]) -> None:
    error = refused(status, b'{"type": "error", "error": {"type": "x", "message": "no"}}')
    assert (type(error), str(error)) == (kind, "no")
    assert str(refused(status, b"<html>")) == "the backend refused"


def test_an_error_in_a_stream_is_raised_as_what_it_was() -> None:
    kinds = [
        type(broken_off({"type": each})) for each in ("overloaded_error", "rate_limit_error", "timeout_error", "api_error")
    ]
    assert kinds == [BackendOverloaded, BackendOverloaded, BackendTimedOut, BackendBroken]
