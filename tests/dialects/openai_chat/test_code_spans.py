"""Which text is code: whatever a Markdown reader takes for code, this does; at any cut."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from clew.dialects.openai_chat.text_call_finder import CodeSpans
from tests.counts import examples

MARK = "MARK"
_CODE = ("fence", "code_block", "code_inline")
TEXTS = st.lists(
    st.sampled_from(["`", "``", "```", "````", "~~~", "\n", "\n\n", " ", "    ", "a", "```py\n", "> ", "- "]), max_size=16
).map("".join)


def is_code(*pieces: str) -> bool:
    spans = CodeSpans()
    for piece in pieces:
        spans.feed(piece)
    return spans.is_code


def flat(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from flat(token.children or [])


def is_code_in_markdown(before: str, after: str) -> bool:
    tokens = flat(MarkdownIt("commonmark").parse(before + MARK + after))
    return any(token.type in _CODE and MARK in token.content for token in tokens)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", False),
        ("say ", False),
        ("say `", True),
        ("say `x` ", False),
        ("say ``x` ", True),
        ("say ` once\n\n", False),
        ("```\n", True),
        ("```\nx\n```\n", False),
        ("```\nx\n``` y\n", True),
        ("````\n```\n", True),
        ("~~~\n```\n", True),
        ("``` x ``` ", False),
        ("1. ```sh\n", True),
        ("x\n    ", True),
        ("x\n   ", False),
    ],
)
def test_code_is_told_from_text(text: str, expected: bool) -> None:
    assert is_code(text) is expected


@settings(max_examples=examples(180, soak=20_000), deadline=None)
@given(TEXTS, TEXTS)
def test_what_markdown_shows_as_code_counts_as_code(before: str, after: str) -> None:
    """Not the other way round: a lone backtick counts before anybody knows whether another one follows."""
    if is_code_in_markdown(before, after):
        assert is_code(before)


@settings(max_examples=examples(120, soak=20_000), deadline=None)
@given(st.lists(TEXTS, max_size=6))
def test_a_cut_changes_nothing(pieces: list[str]) -> None:
    assert is_code(*pieces) is is_code("".join(pieces)) is is_code(*"".join(pieces))
