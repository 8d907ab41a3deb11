"""A plain answer that is read at a glance is read as the parser reads it; whatever is less plain is left to that."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.http.client.message import ResponseBroken, ResponseHead, ResponseLimits
from clew.http.client.reader import ResponseReader
from clew.http.client.whole import read_at_once
from tests.counts import examples

LIMITS = ResponseLimits(head_bytes=400, head_count=5, body_bytes=40)
PLAIN = b"HTTP/1.1 200 OK\r\nContent-Type: a/b; c=d\r\ncontent-length: 5\r\n\r\nhello"

pieces = st.sampled_from(
    [
        *(b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 \r\n", b"HTTP/1.0 200 OK\r\n", b"HTTP/1.1 404 No\r\n"),
        *(b"content-length: 5\r\n", b"Content-Length: 5\r\n", b"content-length: 05\r\n", b"content-length:5\r\n"),
        *(b"content-length: 0\r\n", b"content-length: 9\r\n", b"content-length: +5\r\n"),
        *(b"connection: close\r\n", b"Connection: keep-alive\r\n", b"transfer-encoding: chunked\r\n", b"upgrade: x\r\n"),
        *(b"a: b\r\n", b"A: c\r\n", b"b:  c\r\n", b"b: c \r\n", b"b: c  d\r\n", b"b:\tc\r\n", b"b: \xe9\r\n", b"b:\r\n"),
        *(b"b c: d\r\n", b" folded\r\n", b"b: c\n", b"b: c\x00\r\n", b": c\r\n", b"b: " + b"x" * 390 + b"\r\n"),
        *(b"\r\n", b"hello", b"\r\nhello", b"x" * 41),
    ]
)


@st.composite
def answers(draw: st.DrawFn) -> bytes:
    """Nearly plain: a status, a few fields, an end, a body; or anything."""
    fields = draw(st.lists(pieces, max_size=4))
    framed = [b"HTTP/1.1 200 OK\r\n", *fields, b"content-length: 5\r\n\r\nhello"]
    return b"".join(draw(st.sampled_from([framed, framed, framed, fields])))


def parsed(data: bytes) -> tuple[ResponseHead | None, bytes, bool, bool] | None:
    """What the parser finds; None where it refuses it."""
    reader = ResponseReader(LIMITS)
    try:
        body = reader.passed(data)
    except ResponseBroken:
        return None
    return reader.head, body, reader.done, reader.keep_alive


@given(answers())
@settings(max_examples=examples(400))
def test_what_is_read_at_a_glance_is_what_the_parser_reads(data: bytes) -> None:
    """Two readers that disagree would be a way to smuggle one answer into another."""
    found = read_at_once(data, LIMITS)
    if found is not None:
        assert parsed(data) == (found.head, found.body, True, True)


def test_a_plain_answer_is_read_so() -> None:
    """Else the property above would hold for nothing."""
    head = ResponseHead(200, ((b"content-type", b"a/b; c=d"), (b"content-length", b"5")))
    assert read_at_once(PLAIN, LIMITS) == (head, b"hello")


@pytest.mark.parametrize(
    "data",
    [
        PLAIN[:-1],
        PLAIN + b"x",
        PLAIN.replace(b"200", b"500"),
        PLAIN.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n"),
        PLAIN.replace(b"\r\n\r\n", b"\r\ncontent-type: x\r\n\r\n"),
        PLAIN.replace(b"length: 5", b"length: 05"),
        PLAIN.replace(b"a/b", b"x" * 400),
        PLAIN.replace(b"length: 5", b"length: 41").replace(b"hello", b"x" * 41),
    ],
)
def test_what_is_less_plain_is_left_to_the_parser(data: bytes) -> None:
    assert read_at_once(data, LIMITS) is None
