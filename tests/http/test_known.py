"""Heads that were read before: the second reading gives what the first gave, and nothing passes that the parser refuses."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.http.known import MOST, Known
from clew.http.message import HttpRequest, Limits, Refusal
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


def read(data: bytes, known: Known, limits: Limits | None = None) -> tuple[list[HttpRequest | Refusal], bool, bool]:
    reader = RequestReader(limits or Limits(), known)
    reader.feed(data)
    return list(reader.ready), reader.finished, reader.in_body


messages_of = st.lists(
    st.builds(
        message,
        st.sampled_from(HEADS),
        st.sampled_from([b"", b"content-length: %d\r\n", b"Content-Length: %d\r\n", b"content-length:%d\r\n"]),
        st.sampled_from([b"", b"abc", b"abcde", b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"]),
    ),
    max_size=12,
)


@settings(max_examples=examples(200), deadline=None)
@given(messages_of)
def test_what_is_known_reads_as_what_is_new(messages: list[bytes]) -> None:
    """Whatever came before on this server."""
    known = Known()
    for data in [*messages, *messages]:
        assert read(data, known) == read(data, Known())


@settings(max_examples=examples(200), deadline=None)
@given(messages_of, st.sampled_from([b"", b"x", b"\r\n", b"GET / HTTP/1.1\r\n"]), st.integers(0, 3))
def test_a_connection_reads_the_next_of_its_requests_as_a_new_one_would(
    messages: list[bytes], more: bytes, less: int
) -> None:
    """By the head of its last one, at a glance; also what is longer or shorter than its head says is not misread."""
    reader = RequestReader(Limits(body_bytes=30))
    for data in [*messages, *messages, *(data + more for data in messages), *(data[:-less] for data in messages if less)]:
        found = reader.usual and reader.usual.again(data, 30)
        if found is not None:
            assert read(data, Known(), Limits(body_bytes=30)) == ([found], False, False)
            continue
        if reader.finished or reader.in_head or reader.in_body:
            reader = RequestReader(Limits(body_bytes=30), reader._known)
        reader.feed(data)
        reader.ready.clear()


def test_the_next_request_of_a_connection_is_read_at_a_glance() -> None:
    """Else the property above would hold for nothing."""
    reader = RequestReader(Limits())
    lengths = b"content-length: %d\r\n"
    for body in (b"a", b"bb"):
        reader.feed(message(HEADS[1], lengths, body))
        reader.ready.clear()
    usual = reader.usual
    assert usual is not None
    found = usual.again(message(HEADS[1], lengths, b"c" * 1000), 1000)
    assert found is not None
    assert found.body == b"c" * 1000
    assert usual.again(message(HEADS[1], lengths, b"c" * 1000), 999) is None
    assert usual.again(message(HEADS[2], lengths, b"c"), 1000) is None
    assert usual.again(message(HEADS[1], b"content-length: 0%d\r\n", b"c"), 1000) is None


def test_the_same_head_is_one_object_for_bodies_of_any_length() -> None:
    """So what others work out from it serves every request."""
    known = Known()
    reads = [read(message(HEADS[1], b"content-length: %d\r\n", b"x" * size), known)[0][0] for size in (1, 20, 300)]
    requests = [each for each in reads if isinstance(each, HttpRequest)]

    assert len({id(each.head) for each in requests}) == 1
    assert [(each.header("content-length"), each.body) for each in requests] == [
        (str(size), b"x" * size) for size in (1, 20, 300)
    ]


@pytest.mark.parametrize("size", [11, 5000])
def test_a_known_head_does_not_carry_a_body_past_the_limit(size: int) -> None:
    known, limits = Known(), Limits(body_bytes=10)
    read(message(HEADS[1], b"content-length: %d\r\n", b"x" * 10), known, limits)
    (answer,), _, _ = read(message(HEADS[1], b"content-length: %d\r\n", b"x" * size), known, limits)

    assert isinstance(answer, Refusal) and answer.status == 413


def test_what_is_known_is_bounded() -> None:
    known = Known()
    for number in range(3 * MOST):
        read(b"GET /%d HTTP/1.1\r\nhost: x\r\n\r\n" % number, known)

    assert 0 < len(known.heads) <= MOST


def requests(ready: list[HttpRequest | Refusal]) -> list[HttpRequest | Refusal]:
    """Without what the parser says of bytes behind the last one: in a read of their own they are ignored."""
    return [each for each in ready if not (isinstance(each, Refusal) and each.reason.startswith("Data after"))]


@settings(max_examples=examples(100), deadline=None)
@given(messages_of, st.lists(st.integers(0, 200), max_size=4).map(sorted))
def test_a_request_in_several_reads_is_read_as_in_one(messages: list[bytes], cuts: list[int]) -> None:
    """With a head that is known, and with one that is not; whole, and with others behind it."""
    known = Known()
    for data in [*messages, *messages, *(one + other for one, other in itertools.pairwise(messages))]:
        reader = RequestReader(Limits(), known)
        for start, end in zip([0, *cuts], [*cuts, None], strict=True):
            reader.feed(data[start:end])
        assert (requests(reader.ready), reader.finished) == (requests(read(data, Known())[0]), read(data, Known())[1])


def test_a_long_body_has_the_known_head_too() -> None:
    """So what others work out from it serves a history of megabytes, which comes in many reads."""
    known = Known()
    heads: set[int] = set()
    for size in (300, 400, 500):
        reader = RequestReader(Limits(), known)
        data = message(HEADS[1], b"content-length: %d\r\n", b"x" * size)
        for piece in (data[:100], data[100:200], data[200:]):
            reader.feed(piece)
        (found,) = reader.ready
        assert isinstance(found, HttpRequest) and found.body == b"x" * size
        heads.add(id(found.head))
    assert len(heads) == 1


@pytest.mark.parametrize("spelling", [b"content-length:%d\r\n", b"content-length:  %d\r\n", b"Content-Length: %d \r\n"])
def test_a_body_behind_a_head_in_a_read_of_its_own_is_never_the_next_request(spelling: bytes) -> None:
    """However its length is spelt, and however often the same head came: else a body could ask for something."""
    known, body = Known(), b"GET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n"
    data = message(HEADS[1], spelling, body)
    for _ in range(3):
        reader = RequestReader(Limits(), known)
        for piece in (data[: -len(body)], body):
            reader.feed(piece)
        assert [(each.target, each.body) for each in reader.ready if isinstance(each, HttpRequest)] == [("/a?b", body)]
        assert len(reader.ready) == 1
