"""Bodies in the log: whole, and without thinking unless it is asked for."""

import json

import pytest

from clew.engine.log.lines import body_value
from tests.build import assistant, redacted, text, thinking, user
from tests.manifest import proves

BODY = {
    "thinking": {"type": "enabled", "budget_tokens": 2000},
    "messages": [user("Hi"), assistant(thinking("private", "proof"), redacted("blob"), text("data: thinking"))],
}


@proves("req:S1-45")
def test_thoughts_and_their_proofs_become_lengths_and_everything_else_stays() -> None:
    """S1-45."""
    hidden = assistant(thinking("[7 characters]", "[5 characters]"), redacted("[4 characters]"), text("data: thinking"))
    expected = BODY | {"messages": [user("Hi"), hidden]}
    assert body_value(json.dumps(BODY).encode(), thinking=False) == expected


@proves("req:S1-45")
def test_asked_for_they_stand_there() -> None:
    """S1-45."""
    assert body_value(json.dumps(BODY).encode(), thinking=True) == BODY


def test_a_stream_is_the_list_of_its_events() -> None:
    delta = {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "private"}}
    raw = (
        b"event: ping\ndata: {}\n\nevent: content_block_delta\ndata: " + json.dumps(delta).encode() + b"\n\ndata: [DONE]\n\n"
    )
    hidden = {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "[7 characters]"}}
    assert body_value(raw, thinking=False) == [{}, hidden, "[DONE]"]
    assert body_value(raw, thinking=True) == [{}, delta, "[DONE]"]


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content", "encrypted_content", "thought_signature"])
def test_the_thoughts_of_other_dialects_are_hidden_too(field: str) -> None:
    assert body_value(json.dumps({field: "private"}).encode(), thinking=False) == {field: "[7 characters]"}


def test_a_list_of_thoughts_is_its_length() -> None:
    raw = json.dumps({"reasoning_details": [{"text": "private"}]}).encode()
    assert body_value(raw, thinking=False) == {"reasoning_details": "[1 items]"}


def test_what_cannot_be_read_is_shown_only_if_nothing_in_it_looks_like_thinking() -> None:
    cut = json.dumps(BODY).encode()[:-3]
    assert body_value(b"<html>502</html>\xff", thinking=False) == "<html>502</html>�"
    assert body_value(cut, thinking=False) == f"[{len(cut)} bytes that cannot be read, and may hold thinking]"
    assert body_value(cut, thinking=True) == cut.decode()
