"""What is kept is read, whatever is in it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.web.blocks import read_object


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b'{"a": 1}', {"a": 1}),
        (b'{"text": "cut \\ud83d"}', {"text": "cut \ufffd"}),
        (b'{"\\udfff": ["\\ud800", {"b": "\\ud83d\\ude42"}]}', {"\ufffd": ["\ufffd", {"b": "\U0001f642"}]}),
        (b'{"a": "\xff"}', {"a": "\ufffd"}),
        (b'{"half', {"type": "unreadable", "role": "unreadable"}),
        (b"[1]", {"type": "unreadable", "role": "unreadable"}),
        (b"[" * 100_000, {"type": "unreadable", "role": "unreadable"}),
    ],
)
def test_half_a_character_is_replaced_and_what_is_no_object_says_so(raw: bytes, value: object) -> None:
    assert read_object(raw) == value


@given(st.dictionaries(st.text(st.characters()), st.text(st.characters()), max_size=4))
def test_every_object_of_texts_is_read(value: dict[str, str]) -> None:
    """Surrogates alone included: json writes them, and clients do."""
    json.dumps(read_object(json.dumps(value).encode()), ensure_ascii=False).encode()


@given(st.binary(max_size=60))
def test_any_bytes_are_read_somehow(raw: bytes) -> None:
    assert isinstance(read_object(raw), dict)
