"""Neighbouring events that differ in one text alone."""

import json

import pytest

from clew.wire import alike
from clew.wire.alike import AlikeTexts, spelling_of


def event(text: str, *, more: str = "x") -> bytes:
    return b"data: " + json.dumps({"delta": {"content": text}, "more": more}).encode() + b"\n\n"


SPELLING = spelling_of(event("first"), "content")
TEXTS = ["a", "", "b\n", '"', "é", "\\"]


def test_neighbours_are_read_up_to_one_that_is_spelled_otherwise() -> None:
    assert SPELLING is not None
    run = b"".join(map(event, TEXTS))
    for rest in (b"", event("c", more="y"), b": comment\n\n", b"data: [DONE]\n\n" + event("d")):
        assert SPELLING.read(b": before\n\n" + run + rest, len(b": before\n\n")) == AlikeTexts(TEXTS, 10 + len(run))
        assert SPELLING.read(rest + run, 0) == (AlikeTexts(TEXTS, len(run)) if not rest else None)


def test_a_run_that_is_longer_than_is_looked_at_is_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    assert SPELLING is not None
    monkeypatch.setattr(alike, "_MOST_BYTES", len(event("a")) * 5 // 2)
    run, at, texts = event("a") * 7, 0, list[str]()
    while at < len(run):
        found = SPELLING.read(run, at)
        assert found is not None
        texts += found.texts
        at = found.end
    assert texts == ["a"] * 7


@pytest.mark.parametrize(
    "text",
    [b"\\ud83d", b"a\x7fb", b"\\x", b"\xff", b'a"b', b'a","more":"x"}\\n\\ndata: {"delta":{"content":"b', b"\x01"],
)
def test_what_cannot_be_read_with_others_is_left(text: bytes) -> None:
    """Half a character waits for its other half, and what is no text must be told to be none."""
    assert SPELLING is not None
    head, tail = event("|").split(b"|")
    assert SPELLING.read(head + text + tail, 0) is None
    assert SPELLING.read(head + text + tail + event("a"), 0) is None


def test_an_event_in_which_one_quote_would_be_both_has_no_text() -> None:
    assert SPELLING is not None
    head, tail = event("|").split(b"|")
    assert SPELLING.read(head + tail[1:], 0) is None


@pytest.mark.parametrize(
    "data",
    [
        b'{"delta":{"content":"a","content":"b"}}',
        b'{"delta":{"content":null}}',
        b'{"delta":{"text":"content"}}',
        b'{"delta":{"text":"\\"content\\":\\"a\\""}}',
        b'{"delta":{"content" : "a"}}',
        b'{"delta":{"content":"a","other":{"content":"b"}}}',
    ],
)
def test_an_event_without_one_such_string_has_no_spelling(data: bytes) -> None:
    assert spelling_of(b"data: " + data + b"\n\n", "content") is None
