"""Words that may pass unread: whichever way they are looked at, the same ones do."""

from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.dialects.openai_chat.literals import ANY, IN_TAGS, PLAIN, THOUGHT, Literals, Run, is_text
from tests.counts import examples

KINDS = {"any": ANY, "thought": THOUGHT, "plain": PLAIN, "in tags": IN_TAGS}
PIECES = [
    *(b"a", b" b ", b"]", b"[", b"<", b"`", b'"', b"\\", b"\\n", b'\\"', b"\\\\", b"u", b"\x7f", b"\t", b",", b'","', b"\n"),
    *(
        b"\\u00e9",
        b"\\u005d",
        b"\\ud83d",
        b"\\ude00",
        b"\\u12",
        b"\\x",
        b"\xc3\xa9",
        b"\xc3",
        b"\xa9",
        b"\xe2\x80\x94",
        b"\xff",
    ),
]
WORDS = st.lists(st.lists(st.sampled_from(PIECES), max_size=4).map(b"".join), min_size=1, max_size=5)


def _suspicious(_kind: Literals, _joined: bytes) -> bool:
    return True


def looked_at_closely(kind: Literals, words: list[bytes]) -> Run:
    """By the expression alone."""
    with patch.object(Literals, "_is_suspicious", _suspicious):
        return kind.run_of(words)


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
@settings(max_examples=examples(400, soak=20_000), deadline=None)
@given(words=WORDS)
def test_words_that_look_harmless_are_those_that_fit(kind: Literals, words: list[bytes]) -> None:
    assert kind.run_of(words) == looked_at_closely(kind, words)


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
@settings(max_examples=examples(200, soak=10_000), deadline=None)
@given(words=WORDS)
def test_a_word_fits_alone_if_it_does_in_a_run(kind: Literals, words: list[bytes]) -> None:
    for word in words:
        alone = bool(word) and kind.fits(word) is not None and is_text(word)
        assert bool(kind.run_of([word]).words) == alone


def test_a_run_ends_before_the_first_word_that_does_not_fit() -> None:
    assert THOUGHT.run_of([b"a\\n", b"\xc3\xa9", b"x]", b"b"]) == Run([b"a\\n", b"\xc3\xa9"], "a\né")
