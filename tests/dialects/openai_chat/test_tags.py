"""Thoughts between tags: found at any cut, and nowhere else."""

import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.dialects.openai_chat.options import ChatAnswerOptions
from clew.dialects.openai_chat.stream_tags import PAIRS, TagPiece, Tags
from tests.counts import examples
from tests.dialects.openai_chat.chat import Told, call, stream

FENCED = "Use it so:\n```\n<think>no</think>\n```\n"


def pieces(*texts: str, tags: Tags | None = None) -> list[TagPiece]:
    """The pieces of a content, neighbours of one kind joined."""
    tags = tags or Tags()
    joined: list[TagPiece] = []
    for piece in [*(piece for text in texts for piece in tags.feed(text)), *tags.flush()]:
        if joined and joined[-1].kind == piece.kind:
            piece = TagPiece(piece.kind, joined.pop().text + piece.text)
        joined.append(piece)
    return joined


@pytest.mark.parametrize(("opening", "closing"), PAIRS.items())
def test_each_pair_of_tags_frames_a_thought(opening: str, closing: str) -> None:
    """§2.27: the variants; white space around the thought is markup."""
    assert pieces(f"\n{opening}\nhm\n{closing}\n\nHi") == [
        ("open", f"\n{opening}\n"),
        ("thought", "hm"),
        ("close", f"\n{closing}\n\n"),
        ("text", "Hi"),
    ]


def test_a_thought_right_behind_a_leading_one_is_a_thought_too() -> None:
    """Never reasoning as text: models that think in steps write several in a row."""
    assert pieces("<think>one</think>\n <think>two</think>Hi <think>no</think>") == [
        ("open", "<think>"),
        ("thought", "one"),
        ("close", "</think>\n"),
        ("open", " <think>"),
        ("thought", "two"),
        ("close", "</think>"),
        ("text", "Hi <think>no</think>"),
    ]


@pytest.mark.parametrize("begin", ["", "<think>", "<think>a"], ids=["before", "opened", "within"])
def test_white_space_is_not_looked_at_again_with_each_delta(begin: str) -> None:
    """A model that repeats spaces to its limit: twice as many, twice the work."""

    def seconds(count: int) -> float:
        tags = Tags()
        tags.feed(begin)
        start = time.thread_time()
        for _ in range(count):
            tags.feed(" " * 100)
        return time.thread_time() - start

    assert seconds(40_000) < 8 * seconds(10_000) + 0.02


@pytest.mark.parametrize(
    "content",
    [
        "<thinkX>no</thinkX>",
        "<thin",
        "I use <think>tags</think>",
        FENCED,
        "a </think> b",
    ],
)
def test_what_is_no_leading_tag_is_text(content: str) -> None:
    """Case 38: the answer may talk about tags."""
    assert pieces(content) == [("text", content)]


def test_a_second_pair_is_text_unless_the_backend_thinks_between_its_words() -> None:
    """§2.27, 6 and 7: first close wins, later opens count only where flagged."""
    content = "<think>a</think>x<think>b</think>y"

    assert pieces(content)[3:] == [("text", "x<think>b</think>y")]
    assert [piece for piece in pieces(content, tags=Tags("anywhere")) if piece.kind in ("text", "thought")] == [
        ("thought", "a"),
        ("text", "x"),
        ("thought", "b"),
        ("text", "y"),
    ]


@pytest.mark.parametrize("content", [FENCED, "the `<think>` tag"])
def test_tags_in_code_are_never_markup(content: str) -> None:
    """Case 38: not in a fence, not between backticks, not even where tags count anywhere."""
    assert pieces(content, tags=Tags("anywhere")) == [("text", content)]


def test_a_thought_that_is_never_closed_is_a_thought() -> None:
    """§2.27, 2: cut by the limit."""
    assert pieces("<think>a\n") == [("open", "<think>"), ("thought", "a"), ("close", "\n")]


def test_an_opening_that_the_template_wrote_is_understood_where_flagged() -> None:
    """§2.27, 1: everything before the close is thought; a written opening does no harm."""
    for content in ("a</think>x", "<think>a</think>x"):
        found = pieces(content, tags=Tags(implicit_open=True))
        assert [piece for piece in found if piece.kind in ("text", "thought")] == [("thought", "a"), ("text", "x")]


def test_an_empty_pair_is_no_thought() -> None:
    """§2.27, 3: templates write it when the model does not think."""
    told = Told(stream({"content": "<think>\n\n</think>\n\nHi"}))

    assert (told.blocks, told.stream.payloads) == ([("text", "Hi")], {})


def test_the_markup_is_kept_so_that_the_content_can_go_back_as_it_came() -> None:
    """Case 52: MiniMax wants its think part byte for byte."""
    told = Told(stream({"content": "<think>\nhm\n</think>\n\nHi"}))

    assert told.blocks == [("thinking", "hm"), ("text", "Hi")]
    assert told.stream.payloads == {0: {"field": "tags", "tags": {"open": "<think>\n", "close": "\n</think>\n\n"}}}


def test_a_call_ends_an_unclosed_thought_in_both_of_its_forms() -> None:
    """Case 39: Kimi K2's markup inside the thought; a real call; neither is a thought, and arguments are never searched."""
    assert pieces("<think>a<|tool_calls_section_begin|>b")[1:] == [
        ("thought", "a"),
        ("text", "<|tool_calls_section_begin|>b"),
    ]
    told = Told(
        stream({"content": "<think>a"}, call(0, "c", "f", '{"q":"<think>"}')), speech=ChatAnswerOptions(tags="anywhere")
    )
    assert told.blocks == [("thinking", "a"), ("c", "f", {"q": "<think>"})]


def test_what_was_held_back_comes_out_before_a_call() -> None:
    """Rule 6.4."""
    assert Told(stream({"content": "<thi"}, call(0, "c", "f", "{}"))).blocks == [("text", "<thi"), ("c", "f", {})]


def test_with_tags_off_nothing_is_markup() -> None:
    """A backend that separates reasoning itself."""
    assert Told(stream({"content": "<think>a</think>"}), speech=ChatAnswerOptions(tags="never")).blocks == [
        ("text", "<think>a</think>")
    ]


CONTENT = st.lists(
    st.sampled_from(
        ["<think>", "</think>", "<thought>", "</thought>", "[THINK]", "```", "`", "\n", " ", "a", "<", "th", "◁think▷"]
    ),
    max_size=12,
).map("".join)


@settings(max_examples=examples(48, soak=4000), deadline=None)
@given(CONTENT, st.lists(st.integers(0, 60)), st.sampled_from(["leading", "anywhere", "never"]), st.booleans())
def test_the_pieces_do_not_depend_on_the_cuts_and_lose_nothing(
    content: str, cuts: list[int], mode: str, implicit: bool
) -> None:
    """Case 37: tags split at every place."""
    places = sorted({0, len(content), *(cut for cut in cuts if cut < len(content))})
    parts = [content[start:end] for start, end in pairwise(places)]
    whole = pieces(content, tags=Tags(mode, implicit_open=implicit))

    assert pieces(*parts, tags=Tags(mode, implicit_open=implicit)) == whole
    assert "".join(piece.text for piece in whole) == content
