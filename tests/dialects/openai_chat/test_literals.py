"""Words that may pass unread: whichever way they are looked at, the same ones do."""

from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.dialects.openai_chat.unread.literals import ANY, IN_TAGS, PLAIN, THOUGHT, Literals, Run
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


def _suspicious(_kind: Literals, _joined: bytes, _suspects: object) -> bool:
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
        assert bool(kind.run_of([word]).words) == (kind.fits(word) is not None)


@settings(max_examples=examples(300, soak=20_000), deadline=None)
@given(st.binary(min_size=1, max_size=6) | st.text(min_size=1, max_size=3).map(lambda text: text.encode(errors="replace")))
def test_a_word_fits_only_if_it_is_text(word: bytes) -> None:
    """As Python reads UTF-8, where nothing else is in the way."""
    plain = bytes(byte | 0x80 if byte < 0x20 or byte in b'"\\' else byte for byte in word)
    assert (ANY.fits(plain) is not None) == (plain.decode(errors="ignore").encode() == plain)


@pytest.mark.parametrize(
    "last", ["\x7f", "\x80", "\u07ff", "\u0800", "\ud7ff", "\ue000", "\uffff", "\U00010000", "\U0010ffff"]
)
def test_characters_at_the_ends_of_their_ranges_fit(last: str) -> None:
    word = last.encode()
    assert ANY.fits(word)
    assert not ANY.fits(word[:-1] + b"\xc0")


@pytest.mark.parametrize("word", [b"\xc1\xbf", b"\xe0\x9f\xbf", b"\xed\xa0\x80", b"\xf0\x8f\xbf\xbf", b"\xf4\x90\x80\x80"])
def test_what_utf_8_does_not_allow_does_not_fit(word: bytes) -> None:
    """Longer than needed, half of a pair, or beyond the last."""
    assert not ANY.fits(word)


def test_a_character_that_is_escaped_in_two_halves_fits_if_both_are_there() -> None:
    """As servers in Python write it."""
    assert ANY.run_of([b"a\\ud83d\\ude00", b"b\\ud83d", b"\\ude00"]) == Run([b"a\\ud83d\\ude00"], "a\U0001f600")


def test_a_run_ends_before_the_first_word_that_does_not_fit() -> None:
    assert THOUGHT.run_of([b"a\\n", b"\xc3\xa9", b"x]", b"b"]) == Run([b"a\\n", b"\xc3\xa9"], "a\né")
