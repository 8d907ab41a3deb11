"""Block key, said, asked, place: only what a model put in, and clients leave alone."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.model.blocks import made
from clew.model.recording import AnswerContent
from clew.model.request import blocks_of
from clew.thinking.history import PastAnswers, answers_of, place_after, places_of
from clew.thinking.keys import (
    ProofRow,
    QuestionContent,
    answer_content,
    block_key,
    digest_of,
    key_of,
    place_of,
    proof_half,
    question_content,
)
from tests.build import Json, assistant, redacted, request, system, text, thinking, tool_result, tool_use, user


def blocks(*content: Json) -> tuple:
    return blocks_of(request(assistant(*content)).messages[0])


def test_the_block_key_is_sha_256_over_type_and_proof() -> None:
    assert block_key("thinking", "s") == hashlib.sha256(b"thinking\0s").digest()


def test_the_key_is_the_signatures_or_the_datas_and_never_the_texts() -> None:
    signed, again, hidden, bare, empty, plain = blocks(
        thinking("a", "s"), thinking("b", "s"), redacted("s"), thinking("a", None), thinking("a", ""), text("a")
    )

    assert key_of(signed) == key_of(again) == block_key("thinking", "s")
    assert key_of(hidden) == block_key("redacted_thinking", "s") != key_of(signed)
    assert [key_of(block) for block in (bare, empty, plain)] == [None, None, None]


def test_said_is_tool_ids_and_trimmed_texts_without_empty_ones() -> None:
    said = answer_content(
        blocks(thinking("t", "s"), text(" a\n"), text("  "), tool_use("t1", x=1), text("b"), redacted("d"))
    )

    assert said == AnswerContent(ids=("t1",), texts=("a", "b"))


def test_asked_leaves_out_reminders_and_keeps_what_stands_beside_them() -> None:
    asked = request(
        user(
            text("<system-reminder>\nx\n</system-reminder> "),
            tool_result("t1", "big"),
            text(" go "),
            text("<system-reminder>y"),
        ),
        user("more"),
    )

    assert question_content(message.content for message in asked.messages) == QuestionContent(
        ids=("t1",), texts=("go", "<system-reminder>y", "more")
    )


parts = st.lists(st.text(max_size=3), max_size=3).map(tuple)


@given(parts, parts, parts, parts)
def test_no_two_histories_run_together_into_one_place(a: tuple, b: tuple, c: tuple, d: tuple) -> None:
    one = place_of("p", QuestionContent(a, b), AnswerContent(c, d), QuestionContent(), AnswerContent())

    assert one == place_of("p", QuestionContent(a, b), AnswerContent(c, d), QuestionContent(), AnswerContent())
    assert (one == place_of("p", QuestionContent(a, b), None, QuestionContent(c, d), AnswerContent())) == (c == d == ())
    assert one != place_of("q", QuestionContent(a, b), AnswerContent(c, d), QuestionContent(), AnswerContent())


def test_the_place_of_an_answer_is_the_same_before_and_after_it_was_given() -> None:
    before = request(user("a"), assistant("b"), user("c"), system("x"))
    after = request(user("a"), assistant("b"), user("c"), system("x"), assistant(thinking("t", "s"), " d "), user("e"))

    given = place_after("p", before.messages, AnswerContent(texts=("d",)))

    assert places_of("p", answers_of(after.messages))[1] == given


def test_answers_are_the_same_one_by_one_and_all_at_once() -> None:
    """Runs of assistant messages, system messages between them, and a history that ends with an answer."""
    asked = [user("a"), assistant("b"), assistant("c"), system("x"), user("d"), user("e"), assistant("f")]
    for length in range(len(asked) + 1):
        messages = request(*asked[:length]).messages
        one_by_one, at_once = PastAnswers(messages), answers_of(messages)
        assert len(one_by_one) == len(at_once)
        for some in (list(one_by_one), one_by_one[:]):
            assert [(each.messages, each.asked, each.said) for each in some] == [
                (each.messages, each.asked, each.said) for each in at_once
            ]


def test_the_first_answers_place_knows_the_first_ask() -> None:
    said = AnswerContent(texts=("b",))

    assert place_after("p", request(user("a")).messages, said) != place_after("p", request(user("x")).messages, said)


def test_a_digest_depends_on_every_proof_and_their_order() -> None:
    long = "x" * 500
    rows = [[], ["a"], ["a", "b"], ["b", "a"], ["ab"], ["a", "b", ""], [long], [long[1:]], [long + "y"], [f"{long}z"]]

    assert len({digest_of(row) for row in rows}) == len(rows)


def test_the_digest_of_a_row_depends_on_every_text_and_not_on_how_it_is_written() -> None:
    rows = [["a"], ["a "], [""], ["a", "b"], ["b", "a"], ["ab", ""]]
    digests = {ProofRow().extended([made(thinking(words, "s")) for words in row]).digest() for row in rows}
    assert len(digests) == len(rows)

    plain, escaped = (made(b'{"type":"thinking","thinking":"%b","signature":"s"}' % text) for text in (b"A/", b"\\u0041\\/"))
    assert ProofRow().extended([plain]).digest() == ProofRow().extended([escaped]).digest()


def test_a_row_grows_to_the_digest_that_it_has_at_once() -> None:
    blocks = [made(each) for each in (thinking("a", "s1"), redacted("d"), thinking("b", "s2"))]
    at_once = ProofRow().extended(blocks).digest()
    assert ProofRow().extended(blocks[:1]).extended([]).extended(blocks[1:]).digest() == at_once
    assert proof_half(at_once) == digest_of(["s1", "d", "s2"])


@pytest.mark.parametrize("lone", ["\ud800", "x\udfff"])
def test_lone_surrogates_are_hashed_like_anything_else(lone: str) -> None:
    assert len(block_key("thinking", lone)) == 32
    assert len(place_of(lone, QuestionContent(texts=(lone,)), None, QuestionContent(), AnswerContent())) == 32
    assert len(digest_of([lone])) == 32
