"""What counts as empty, and what as blank."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.model.blocks import made
from clew.pipeline.values import is_blank_text, is_empty_text, is_nothing_but_blank
from tests.counts import examples


@settings(max_examples=examples(72, soak=6000))
@given(st.text(alphabet=' \t\n\r\u00a0\u2003\u3000\x0b\x0cab"\\é😀', max_size=6), st.booleans())
def test_a_text_is_empty_blank_or_neither_in_either_spelling(words: str, ascii: bool) -> None:
    """The quick look at the raw bytes agrees with Python, whether characters are escaped or not."""
    block = made(json.dumps({"type": "text", "text": words}, ensure_ascii=ascii).encode())
    assert is_empty_text(block) == (words == "")
    assert is_blank_text(block) == words.isspace()
    assert is_nothing_but_blank((block,)) == words.isspace()
    assert is_nothing_but_blank(words) == words.isspace()


@pytest.mark.parametrize(
    "block", [{"type": "image"}, {"type": "text"}, {"type": "text", "text": None}, {"type": "text", "text": 12}]
)
def test_what_is_no_text_is_neither(block: dict) -> None:
    assert not is_empty_text(made(block))
    assert not is_blank_text(made(block))


def test_nothing_is_not_blank_and_blank_beside_something_is_not_all() -> None:
    blank, image = made({"type": "text", "text": " "}), made({"type": "image"})
    assert not is_nothing_but_blank(())
    assert not is_nothing_but_blank(None)
    assert not is_nothing_but_blank((blank, image))
    assert is_nothing_but_blank((blank, blank))
