"""The request reader: any cut, strict framing, bounds."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.http.message import HttpRefusal, HttpRequest, ServerLimits, request_of
from clew.http.reader import RequestReader
from tests.counts import examples

POST = b"POST /v1/messages?beta=true HTTP/1.1\r\nHost: x\r\n"
PIPELINE = (
    b"GET /a HTTP/1.1\r\nHost: x\r\nX-A: 1\r\nx-a: 2\r\n\r\n"
    + POST
    + b"Content-Length: 5\r\n\r\nhello"
    + POST
    + b"Transfer-Encoding: chunked\r\n\r\n3;ext=1\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: dropped\r\n\r\n"
    + b"\r\nHEAD / HTTP/1.0\r\n\r\n"
)
REQUESTS = [
    request_of(method="GET", target="/a", headers=(("host", "x"), ("x-a", "1"), ("x-a", "2")), body=b""),
    request_of(
        method="POST",
        target="/v1/messages?beta=true",
        headers=(("host", "x"), ("content-length", "5")),
        body=b"hello",
    ),
    request_of(
        method="POST",
        target="/v1/messages?beta=true",
        headers=(("host", "x"), ("transfer-encoding", "chunked")),
        body=b"abcde",
    ),
    request_of(method="HEAD", target="/", headers=(), body=b"", version="1.0", keep_alive=False),
]


def read(*pieces: bytes, limits: ServerLimits | None = None) -> list[HttpRequest | HttpRefusal]:
    reader = RequestReader(limits or ServerLimits())
    for piece in pieces:
        reader.feed(piece)
    return list(reader.ready)


def test_pipelined_requests_come_out_in_order() -> None:
    """RFC 9112 §9.3.2."""
    assert read(PIPELINE) == REQUESTS


@settings(max_examples=examples(24, soak=2000), deadline=None)
@given(st.lists(st.integers(0, len(PIPELINE)), max_size=12).map(sorted))
def test_requests_do_not_depend_on_where_the_bytes_were_cut(cuts: list[int]) -> None:
    """The property of the cut, for the server's reader."""
    edges = [0, *cuts, len(PIPELINE)]
    pieces = [PIPELINE[a:b] for a, b in itertools.pairwise(edges)]
    assert read(*pieces) == REQUESTS


def test_one_byte_at_a_time_is_the_same() -> None:
    assert read(*(PIPELINE[i : i + 1] for i in range(len(PIPELINE)))) == REQUESTS


def test_path_and_query_are_split_and_an_absolute_target_loses_its_host() -> None:
    def request(target: str) -> HttpRequest:
        return request_of(method="GET", target=target, headers=(), body=b"")

    assert (request("/a?b=1?2").path, request("/a?b=1?2").query) == ("/a", "b=1?2")
    assert request("http://h:1/a?b").path == "/a"
    assert request("http://h").path == "/"
    assert request("*").path == "*"


def test_repeated_headers_are_kept_and_joined_on_demand() -> None:
    request = REQUESTS[0]
    assert request.joined == {"host": "x", "x-a": "1, 2"}
    assert request.header("x-a") == "1, 2"
    assert request.header("nobody") is None


SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize(
    ("status", "data"),
    [
        pytest.param(400, POST + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", id="cl-and-te"),
        pytest.param(400, POST + b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n", id="te-and-cl"),
        pytest.param(400, POST + b"Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", id="two-equal-lengths"),
        pytest.param(400, POST + b"Content-Length: 3, 3\r\n\r\nabc", id="list-of-lengths"),
        pytest.param(400, POST + b"Content-Length: +3\r\n\r\nabc", id="signed-length"),
        pytest.param(400, POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", id="unknown-coding"),
        pytest.param(400, POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", id="gzip-coding"),
        pytest.param(400, b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", id="te-in-1.0"),
        pytest.param(400, POST + b"X: a\r\n b\r\n\r\n", id="folded-header"),
        pytest.param(400, b"GET / HTTP/1.1\nHost: x\n\n", id="bare-line-feeds"),
        pytest.param(400, b"GET / HTTP/1.1\r\nHost : x\r\n\r\n", id="space-before-colon"),
        pytest.param(400, b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", id="two-hosts"),
        pytest.param(400, b"GET / HTTP/1.1\r\n\r\n", id="no-host"),
        pytest.param(400, b"GET / HTTP/1.1\r\nHost: x\x00y\r\n\r\n", id="nul"),
        pytest.param(400, b"GET / HTTP/3.7\r\nHost: x\r\n\r\n", id="version"),
        pytest.param(400, POST + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n", id="chunk-too-long"),
        pytest.param(400, POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", id="chunk-size"),
        pytest.param(417, POST + b"Content-Length: 1\r\nExpect: the-moon\r\n\r\na", id="expectation"),
        pytest.param(400, b"\x16\x03\x01\x02\x00\x01", id="tls"),
    ],
)
def test_bytes_that_can_be_read_in_two_ways_are_refused_with_all_behind_them(status: int, data: bytes) -> None:
    """Nothing is smuggled: the second request never comes out."""
    found = read(data + SMUGGLED, SMUGGLED)
    assert [type(item) for item in found] == [HttpRefusal]
    assert isinstance(found[0], HttpRefusal)
    assert found[0].status == status


def test_a_request_after_connection_close_is_not_read() -> None:
    found = read(b"GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", SMUGGLED)
    assert [item.target for item in found if isinstance(item, HttpRequest)] == ["/a"]


def test_an_upgrade_is_answered_as_a_plain_request_and_ends_the_reading() -> None:
    """RFC 9110 §7.8: a server may ignore it."""
    head = b"GET /a HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n"
    found = read(head + SMUGGLED, SMUGGLED)
    assert [(item.target, item.keep_alive) for item in found if isinstance(item, HttpRequest)] == [("/a", False)]
    assert len(found) == 1


TIGHT = ServerLimits(head_bytes=200, head_count=4, body_bytes=10)


@pytest.mark.parametrize(
    ("status", "data"),
    [
        pytest.param(431, POST + b"X: " + b"a" * 300 + b"\r\n\r\n", id="long-header"),
        pytest.param(431, POST + b"X: " + b"a" * 300, id="header-without-end"),
        pytest.param(431, b"GET /" + b"a" * 300, id="target-without-end"),
        pytest.param(431, POST + b"A: 1\r\nB: 1\r\nC: 1\r\nD: 1\r\n\r\n", id="many-headers"),
        pytest.param(413, POST + b"Content-Length: 11\r\n\r\n", id="length-says-so"),
        pytest.param(413, POST + b"Transfer-Encoding: chunked\r\n\r\n6\r\naaaaaa\r\n6\r\nbbbbbb\r\n", id="counted"),
        pytest.param(400, POST + b"Transfer-Encoding: chunked\r\n\r\n1;" + b"e" * 300, id="chunk-extension"),
        pytest.param(400, POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\nT: " + b"e" * 300 + b"\r\n", id="trailers"),
    ],
)
def test_bounds_are_kept_in_large_pieces_and_byte_by_byte(status: int, data: bytes) -> None:
    for size in (100, 1):
        found = read(*(data[i : i + size] for i in range(0, len(data), size)), limits=TIGHT)
        assert isinstance(found[0], HttpRefusal)
        assert found[0].status == status
        assert len(found) == 1


def test_what_just_fits_passes() -> None:
    body = POST + b"Content-Length: 10\r\n\r\n0123456789"
    chunked = POST + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 10 + b"0\r\n\r\n"
    found = read(body, chunked, limits=TIGHT)
    assert [item.body for item in found if isinstance(item, HttpRequest)] == [b"0123456789", b"x" * 10]


def test_the_head_of_a_body_that_comes_in_pieces_is_checked_once() -> None:
    seen: list[str] = []

    def check(request: HttpRequest) -> object:
        seen.append(request.target)
        return "let in"

    reader = RequestReader(ServerLimits(), check)
    for piece in (POST + b"Content-Length: 6\r\n\r\nab", b"cd", b"ef" + POST + b"Content-Length: 2\r\n\r\ngh"):
        reader.feed(piece)
    requests = [each for each in reader.ready if isinstance(each, HttpRequest)]
    assert seen == ["/v1/messages?beta=true"]
    assert [(each.body, each.checked) for each in requests] == [(b"abcdef", "let in"), (b"gh", None)]
