"""Requests cut anywhere: what comes in several reads is read as in one, and no body is ever taken for a request."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.http.message import HttpRefusal, HttpRequest, ServerLimits
from clew.http.reader import RequestReader
from tests.counts import examples

HEADS = (
    b"GET / HTTP/1.1\r\nhost: x\r\n%b\r\n",
    b"POST /a?b HTTP/1.1\r\nHost: x\r\n%bX-A: 1\r\nx-a: 2\r\n\r\n",
    b"POST /a HTTP/1.1\r\nhost: x\r\nx-api-key: k\r\n%bconnection: keep-alive\r\n\r\n",
    b"POST /a HTTP/1.1\r\nhost: x\r\n%bconnection: close\r\n\r\n",
    b"POST /a HTTP/1.1\r\nhost: x\r\n%bexpect: 100-continue\r\n\r\n",
    b"POST /a HTTP/1.0\r\n%b\r\n",
    b"HEAD /a HTTP/1.1\r\nhost: x\r\nhost: y\r\n%b\r\n",
    b"POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n%b\r\n",
    b"POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n%b\r\n",
)


def message(head: bytes, spelling: bytes, body: bytes) -> bytes:
    return head % (spelling % len(body) if spelling else b"") + body


def read(*pieces: bytes) -> tuple[list[HttpRequest | HttpRefusal], bool]:
    """Without what the parser says of bytes behind the last one: in a read of their own they are ignored."""
    reader = RequestReader(ServerLimits())
    for piece in pieces:
        reader.feed(piece)
    ready = [each for each in reader.ready if not (isinstance(each, HttpRefusal) and each.reason.startswith("Data after"))]
    return ready, reader.finished


messages_of = st.lists(
    st.builds(
        message,
        st.sampled_from(HEADS),
        st.sampled_from([b"", b"content-length: %d\r\n", b"Content-Length: %d\r\n", b"content-length:%d\r\n"]),
        st.sampled_from([b"", b"abc", b"abcde", b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"]),
    ),
    max_size=12,
)


@settings(max_examples=examples(60, soak=2000), deadline=None)
@given(messages_of, st.lists(st.integers(0, 200), max_size=4).map(sorted))
def test_a_request_in_several_reads_is_read_as_in_one(messages: list[bytes], cuts: list[int]) -> None:
    """Whole, and with others behind it."""
    for data in [*messages, *(one + other for one, other in itertools.pairwise(messages))]:
        pieces = [data[start:end] for start, end in zip([0, *cuts], [*cuts, None], strict=True)]
        assert read(*pieces) == read(data)


@pytest.mark.parametrize("spelling", [b"content-length:%d\r\n", b"content-length:  %d\r\n", b"Content-Length: %d \r\n"])
def test_a_body_behind_a_head_in_a_read_of_its_own_is_never_the_next_request(spelling: bytes) -> None:
    """However its length is spelt: else a body could ask for something."""
    body = b"GET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n"
    data = message(HEADS[1], spelling, body)
    ready, _ = read(data[: -len(body)], body)
    assert [(each.target, each.body) for each in ready if isinstance(each, HttpRequest)] == [("/a?b", body)]
    assert len(ready) == 1
