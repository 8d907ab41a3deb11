"""Blocks of Markdown: finished once, at any cut, with nothing lost."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.chat.display.drawing import Paragraphs


def split(text: str, *cuts: int) -> list[str]:
    """The blocks of a text that comes in pieces."""
    paragraphs = Paragraphs()
    places = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    pieces = [text[start:end] for start, end in pairwise(places)]
    return [block for piece in pieces for block in paragraphs.feed(piece)] + paragraphs.end()


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("", []),
        ("\n\n \n", []),
        ("One line", ["One line"]),
        ("One.\n\n\nTwo.\nStill two.\n", ["One.", "Two.\nStill two."]),
        ("Text\n# Head\nMore", ["Text", "# Head", "More"]),
        ("#hashtag\nMore", ["#hashtag\nMore"]),
        ("Text\n```py\na\n\nb\n```\nMore", ["Text", "```py\na\n\nb\n```", "More"]),
        ("```\n# no head\n~~~\n```\n", ["```\n# no head\n~~~\n```"]),
        ("````\n```\n````\nAfter", ["````\n```\n````", "After"]),
        ("```\nnever closed\n\nstill", ["```\nnever closed\n\nstill"]),
        ("- a\n\n  more of a\n- b\n\nAfter", ["- a\n\n  more of a\n- b", "After"]),
        ("1. a\n   ```\n   x\n\n   y\n   ```\n   more\n\nAfter", ["1. a\n   ```\n   x\n\n   y\n   ```\n   more", "After"]),
        ("1. a\n\n2. b", ["1. a", "2. b"]),
        ("| a |\n|---|\n| b |\n\nAfter", ["| a |\n|---|\n| b |", "After"]),
    ],
)
def test_a_block_ends_where_the_next_begins(text: str, blocks: list[str]) -> None:
    assert split(text) == blocks
    assert split(text, *range(len(text))) == blocks


lines = st.lists(st.sampled_from(["a", "", " ", "```", "~~~~", "    x", "# h", "- i", "  c", "`", "b\r"]), max_size=30)


@given(lines, st.lists(st.integers(0, 200)))
def test_cuts_make_no_difference_and_nothing_is_lost(given: list[str], cuts: list[int]) -> None:
    """But blank lines between blocks."""
    text = "\n".join(given)
    blocks = split(text, *cuts)
    assert blocks == split(text)
    assert [line for block in blocks for line in block.split("\n") if line.strip()] == [
        line for line in given if line.strip()
    ]


def test_what_is_open_is_what_is_not_finished() -> None:
    paragraphs = Paragraphs()
    assert paragraphs.feed("One.\n\nTwo\nand ") == ["One."]
    assert (paragraphs.open, paragraphs.preview(10), paragraphs.preview(1)) == ("Two\nand ", "Two\nand ", "and ")


def test_a_preview_is_short_however_long_the_block() -> None:
    paragraphs = Paragraphs()
    paragraphs.feed("```py\n" + "".join(f"line {number}\n" for number in range(10_000)))
    assert paragraphs.preview(4).split("\n") == ["```", "line 9997", "line 9998", "line 9999"]
    paragraphs.feed("x" * 1_000_000)
    assert len(paragraphs.preview(50)) < 10_000
    assert paragraphs.preview(3).startswith("```\n")


def test_a_long_answer_is_looked_at_once() -> None:
    """Half a megabyte in pieces of four characters: no piece costs more for what came before it."""
    paragraphs = Paragraphs()
    text = "A line of some words.\n" * 25_000
    finished = [block for at in range(0, len(text), 4) for block in paragraphs.feed(text[at : at + 4])]
    assert (finished, len(paragraphs.open)) == ([], len(text) - 1)
