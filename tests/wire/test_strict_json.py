"""Whole documents: strict, bounded, and exact about what is wrong."""

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import BodyTooLarge, RequestInvalid
from clew.wire.strict_json import MAX_DEPTH, JsonFault, decode_json, find_fault
from tests.counts import examples
from tests.wire.json_texts import plain, spelled, trees


@given(tree=trees(unique=False), data=st.data())
@settings(max_examples=examples(48, soak=2000), deadline=None)
def test_every_spelling_of_a_document_is_read(tree: Any, data: st.DataObject) -> None:
    assert decode_json(spelled(tree, data.draw)) == plain(tree)


def test_big_integers_stay_exact() -> None:
    assert decode_json(b"[123456789012345678901234567890, 9007199254740993]") == [123456789012345678901234567890, 2**53 + 1]


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "Input is a zero-length, empty document: line 1 column 1 (char 0)"),
        (b'{"model":"claude-opus-5-5","max_tokens":1', "unexpected end of data: line 1 column 42 (char 41)"),
        (b'{"a":', "unexpected end of data: line 1 column 6 (char 5)"),
        (b'{"a":"b', "unexpected end of data: line 1 column 8 (char 7)"),
        (b'["\\', "unexpected end of data: line 1 column 4 (char 3)"),
        (b"  \n ", "unexpected end of data: line 2 column 2 (char 4)"),
        (b'{"a" 1}', "expecting ':' delimiter: line 1 column 6 (char 5)"),
        (b'{"a":1\n "b":2}', "expecting ',' delimiter: line 2 column 2 (char 8)"),
        (b"{a:1}", "expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        (b"hello", "expecting value: line 1 column 1 (char 0)"),
        (b"{} x", "extra data: line 1 column 4 (char 3)"),
        (b'["\x01"]', "invalid control character: line 1 column 3 (char 2)"),
        (b'["\\x"]', "invalid \\escape: line 1 column 3 (char 2)"),
        (b'{"a":\n NaN}', "NaN is not a JSON value: line 2 column 2 (char 7)"),
        (b'["NaN", -Infinity]', "-Infinity is not a JSON value: line 1 column 9 (char 8)"),
        (b'["\\\\ud800", "a\\ud800b"]', "lone surrogate in string: line 1 column 15 (char 14)"),
        (b'["\\udc00\\ud800"]', "lone surrogate in string: line 1 column 3 (char 2)"),
        (b'["\\ud800", NaN]', "NaN is not a JSON value: line 1 column 12 (char 11)"),
        (b'["\\ud83d\\ude00\\ud83d"]', "lone surrogate in string: line 1 column 15 (char 14)"),
        ('["é", "'.encode() + b'\xff"]', "not valid UTF-8 (byte 0xff): line 1 column 8 (char 7)"),
        (b'["\xed\xa0\x80"]', "not valid UTF-8 (byte 0xed): line 1 column 3 (char 2)"),
        (b'["1e999", 1e999]', "number out of range: line 1 column 11 (char 10)"),
        (b"[1, " + b"9" * 5000 + b"]", "number out of range: line 1 column 5 (char 4)"),
    ],
)
def test_a_body_that_is_no_json_says_what_was_expected_and_where(raw: bytes, words: str) -> None:
    """R4: the vendor's words for an empty body and for one that ends early; its form `line L column C (char N)` for all."""
    with pytest.raises(RequestInvalid) as caught:
        decode_json(raw)

    fault = find_fault(raw)
    assert (str(caught.value), caught.value.line, caught.value.column) == (words, fault.line, fault.column)


def test_a_fault_has_its_parts() -> None:
    assert find_fault(b'{\n"a" 1}') == JsonFault("expecting ':' delimiter", 6, 2, 5)


def test_a_byte_order_mark_is_no_json() -> None:
    with pytest.raises(RequestInvalid, match="line 1 column 1"):
        decode_json(b"\xef\xbb\xbf{}")


@given(raw=st.binary(max_size=40) | st.text('[]{}",:\\ua0d8 \n1e.-NaInfty', max_size=20).map(str.encode))
@settings(max_examples=examples(96, soak=8000), deadline=None)
def test_any_bytes_are_read_or_refused(raw: bytes) -> None:
    """Never another exception; and what is accepted, the standard library accepts too."""
    try:
        value = decode_json(raw)
    except RequestInvalid as error:
        refusal = error
    else:
        assert value == json.loads(raw)
        return
    assert str(refusal).endswith(f"line {refusal.line} column {refusal.column} (char {find_fault(raw).char})")


def nested(levels: int, opening: bytes, closing: bytes) -> bytes:
    return opening * levels + b"1" + closing * levels


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_the_deepest_document_passes_and_one_level_more_is_refused(opening: bytes, closing: bytes) -> None:
    decode_json(nested(MAX_DEPTH, opening, closing))

    with pytest.raises(BodyTooLarge, match="nested more than 128 levels deep"):
        decode_json(nested(MAX_DEPTH + 1, opening, closing))


@pytest.mark.parametrize(
    "raw",
    [
        nested(10_000, b"[", b"]"),
        b"[" * 10_000,
        nested(10_000, b'{"a":', b"}"),
        b"[" * 10_000 + b'"\\ud800"' + b"]" * 10_000,
        b'["\\ud800", ' + b"[" * 10_000 + b"]" * 10_001,
        b'["' + b"\\n" * 2_000_000 + b'\\ud800"]',
        b'["' + b"x" * 4_000_000,
        b"[" + b"1," * 1_000_000 + b"NaN]",
        b'{"messages":[' + b"{}," * 1_000_000 + b"]}",
    ],
    ids=[
        "deep arrays",
        "deep and open",
        "deep objects",
        "deep surrogate",
        "surrogate and then deep",
        "late surrogate",
        "open string",
        "late NaN",
        "late comma",
    ],
)
def test_hostile_bodies_are_refused_soon(raw: bytes) -> None:
    """No crash, no RecursionError, no long wait."""
    started = time.thread_time()
    with pytest.raises((RequestInvalid, BodyTooLarge)):
        decode_json(raw)

    assert time.thread_time() - started < 10
