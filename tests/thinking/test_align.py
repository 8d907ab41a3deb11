"""Align: the recording's thinking between the client's visible blocks, or nowhere."""

from __future__ import annotations

import json

import pytest

from clew.model.blocks import Made, made
from clew.model.recording import Recording, Strand
from clew.thinking.history import AnswerPiece, align, answers_of, holds_all
from clew.thinking.keys import answer_content, key_of
from tests.build import OPUS, Json, assistant, redacted, request, text, thinking, tool_use


def recorded(*blocks: Json, ids: tuple[str, ...] | None = None) -> Recording:
    own = request(assistant(*blocks)).messages[0].content
    assert isinstance(own, tuple)
    said = answer_content(own)
    return Recording(
        id="r",
        principal="p",
        origin=OPUS,
        blocks=tuple(json.dumps(block).encode() for block in blocks),
        keys=tuple(key for block in own if (key := key_of(block))),
        said=said if ids is None else type(said)(ids, said.texts),
        place=b"",
        strand=Strand(listed=()),
    )


def put(client: list[list[Json]], recording: Recording) -> list[tuple[int, str]] | None:
    pieces = answers_of(request(*(assistant(*content) for content in client)).messages)[0].pieces
    out = align(pieces, recording)
    return None if out is None else [(piece.message, _name(piece.block)) for piece in out]


def _name(block: object) -> str:
    return (
        json.loads(block.raw)["signature" if b"signature" in block.raw else "data"]
        if isinstance(block, Made)
        else block.type
    )


@pytest.mark.parametrize(
    ("said", "client", "want"),
    [
        ([thinking("t", "s1"), text("a")], [[text("a")]], [(0, "s1"), (0, "text")]),
        (
            [thinking("t", "s1"), text("a"), redacted("d"), tool_use("t1")],
            [[text(" a ")], [tool_use("t1", more=1)]],
            [(0, "s1"), (0, "text"), (1, "d"), (1, "tool_use")],
        ),
        ([text("a"), thinking("t", "s1")], [[text("a")]], [(0, "text"), (0, "s1")]),
        ([thinking("t", "s1"), text(""), text("a")], [[text("a")]], [(0, "s1"), (0, "text")]),
        ([thinking("t", "s1"), text("a")], [[text(""), text("a")]], [(0, "text"), (0, "s1"), (0, "text")]),
    ],
    ids=[
        "before the text",
        "over two messages",
        "at the end, as its maker did",
        "an empty text is gone",
        "an empty text is new",
    ],
)
def test_thinking_stands_where_it_stood(said: list[Json], client: list[list[Json]], want: list[tuple[int, str]]) -> None:
    assert put(client, recorded(*said)) == want


@pytest.mark.parametrize(
    ("said", "client"),
    [
        ([thinking("t", "s1"), text("a")], [[text("b")]]),
        ([thinking("t", "s1"), text("a")], [[text("a"), text("b")]]),
        ([thinking("t", "s1"), tool_use("t1"), tool_use("t2")], [[tool_use("t2"), tool_use("t1")]]),
        ([thinking("t", "s1"), text("a"), text("b")], [[text("a b")]]),
        ([thinking("t", "s1"), text("a"), text("b")], [[text("a")], [text("b"), tool_use("t1")]]),
        ([thinking("t", "s1")], [[thinking("t", "s1")]]),
        ([text("a"), thinking("t", "s1"), text("")], [[text("a")]]),
    ],
    ids=[
        *("other words", "more words", "calls in another order", "words joined otherwise", "a call more"),
        *("nothing visible", "it would end in thinking"),
    ],
)
def test_what_does_not_line_up_gets_nothing(said: list[Json], client: list[list[Json]]) -> None:
    assert put(client, recorded(*said)) is None


@pytest.mark.parametrize(
    ("said", "client", "want"),
    [
        (
            [thinking("t", "s1"), text("a "), thinking("u", "s2"), text("b"), tool_use("t1")],
            [text("a b"), tool_use("t1")],
            ["s1", "a ", "s2", "b", "tool_use"],
        ),
        ([thinking("t", "s1"), tool_use("t1"), text("a")], [text(" a"), tool_use("t1")], ["s1", "tool_use", "a"]),
        ([text("a"), thinking("t", "s1"), text("b\n")], [text("ab")], ["a", "s1", "b\n"]),
    ],
    ids=["texts are one", "calls come last", "the end is trimmed"],
)
def test_one_text_for_all_is_put_apart_as_it_was_said(said: list[Json], client: list[Json], want: list[str]) -> None:
    """A dialect with one text for each answer, and its calls behind it, loses only the places: those are recorded."""
    pieces = align([AnswerPiece(0, made(block)) for block in client], recorded(*said))

    assert pieces is not None
    blocks = [json.loads(piece.block.raw) for piece in pieces if isinstance(piece.block, Made)]
    assert [block.get("signature") or block.get("text") or block["type"] for block in blocks] == want


def test_a_makers_own_tool_ids_line_up_with_the_safe_ones_that_the_client_got() -> None:
    assert put([[tool_use("safe_1")]], recorded(thinking("t", "s1"), tool_use("call_0"), ids=("safe_1",))) == [
        (0, "s1"),
        (0, "tool_use"),
    ]


def test_a_copy_holds_all_only_with_every_block_in_order() -> None:
    recording = recorded(thinking("a", "s1"), text("x"), thinking("b", "s2"), text("y"))

    def pieces(*content: Json) -> tuple:
        return answers_of(request(assistant(*content)).messages)[0].pieces

    assert holds_all(pieces(thinking("a", "s1"), thinking("b", "s2"), text("z")), recording)
    assert not holds_all(pieces(thinking("b", "s2"), thinking("a", "s1")), recording)
    assert not holds_all(pieces(thinking("a", "s1")), recording)


@pytest.mark.parametrize(
    ("said", "client", "want"),
    [
        ([thinking("t", "s1"), text("a")], [[thinking("t", "s1")], [text("a")]], [(0, "s1"), (1, "text")]),
        ([text("a"), thinking("t", "s1")], [[text("a")], [thinking("t", "s1")]], [(0, "text"), (1, "s1")]),
        (
            [thinking("t", "s1"), redacted("d"), text("a"), thinking("u", "s2"), tool_use("t1")],
            [[thinking("t", "s1")], [text("a")], [thinking("u", "s2")], [tool_use("t1")]],
            [(0, "s1"), (1, "d"), (1, "text"), (2, "s2"), (3, "tool_use")],
        ),
        (
            [text("a"), thinking("t", "s1"), text("b")],
            [[thinking("t", "s1")], [text("a")], [text("b")]],
            [(1, "text"), (2, "s1"), (2, "text")],
        ),
    ],
    ids=["before", "behind", "in part", "out of order"],
)
def test_a_thought_that_the_client_split_off_stays_in_its_own_message(
    said: list[Json], client: list[list[Json]], want: list[tuple[int, str]]
) -> None:
    """A message that held nothing else would be empty, and something would have to be said in it."""
    assert put(client, recorded(*said)) == want
