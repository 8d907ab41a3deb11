"""The client's reader, without sockets: every framing, every cut, every bound."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.http.client.message import ClientRequest, PeerClosed, ResponseBroken, ResponseLimits
from clew.http.client.reader import ResponseReader
from clew.model.http import ResponseHead
from tests.counts import examples

LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: 1\r\nx-a: 2\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nTrailer: t\r\n\r\n"
TO_THE_END = b"HTTP/1.1 200 OK\r\nX-A: 1\r\n\r\nhello"
INTERIM = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"


def read(
    data: bytes, cuts: list[int] | None = None, limits: ResponseLimits | None = None, *, head_only: bool = False
) -> ResponseReader:
    reader = ResponseReader(limits or ResponseLimits(), head_only=head_only)
    places = [0, *sorted(cuts or []), len(data)]
    for start, end in pairwise(places):
        if end > start:
            reader.feed(data[start:end])
    return reader


def test_header_values_are_kept_as_they_came() -> None:
    reader = read(LENGTH)
    assert reader.head == ResponseHead(200, ((b"content-length", b"5"), (b"x-a", b"1"), (b"x-a", b"2")))
    assert reader.head.header(b"x-a") == b"1"
    assert reader.head.header(b"x-b") is None


@pytest.mark.parametrize("answer", [LENGTH, CHUNKED, INTERIM + LENGTH, INTERIM + CHUNKED])
@given(data=st.data())
@settings(max_examples=examples(30, soak=1000))
def test_the_cuts_between_reads_change_nothing(answer: bytes, data: st.DataObject) -> None:
    """U13: one-byte chunks, borders inside CRLF."""
    cuts = data.draw(st.lists(st.integers(1, len(answer) - 1)))
    reader = read(answer, cuts)
    assert (reader.done, reader.keep_alive, b"".join(reader.take())) == (True, True, b"hello")


@pytest.mark.parametrize("answer", [LENGTH, CHUNKED, INTERIM + CHUNKED])
def test_an_end_at_any_byte_before_the_last_is_no_end(answer: bytes) -> None:
    """U11: cut at every offset."""
    for cut in range(len(answer)):
        reader = read(answer[:cut])
        with pytest.raises(PeerClosed) as caught:
            reader.finish()
        assert caught.value.began == (cut > 0)


def test_without_a_length_the_end_of_the_connection_is_the_end() -> None:
    reader = read(TO_THE_END)
    assert not reader.done
    reader.finish()
    assert (reader.done, reader.keep_alive, reader.take()) == (True, False, [b"hello"])


@pytest.mark.parametrize("status", [204, 304])
def test_some_statuses_have_no_body(status: int) -> None:
    reader = read(b"HTTP/1.1 %d X\r\n\r\n" % status)
    assert (reader.done, reader.take()) == (True, [])


def test_the_answer_to_a_head_has_no_body_and_ends_the_connection() -> None:
    reader = read(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", head_only=True)
    assert (reader.done, reader.keep_alive) == (True, False)


@pytest.mark.parametrize("line", [b"Connection: close\r\n", b"connection: Close\r\n"])
def test_a_server_may_close(line: bytes) -> None:
    assert read(b"HTTP/1.1 200 OK\r\n%bContent-Length: 0\r\n\r\n" % line).keep_alive is False


def test_an_old_server_is_not_kept() -> None:
    assert read(b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n").keep_alive is False


def test_a_second_answer_is_not_read_and_ends_the_connection() -> None:
    reader = read(LENGTH + LENGTH)
    assert (reader.done, reader.keep_alive, reader.take()) == (True, False, [b"hello"])


@pytest.mark.parametrize(
    "answer",
    [
        b"garbage\r\n\r\n",
        b"\x16\x03\x01\x02\x00",
        b"HTTP/2 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nx",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    ],
)
def test_what_is_no_http_or_could_be_read_in_two_ways_is_refused(answer: bytes) -> None:
    with pytest.raises(ResponseBroken):
        read(answer)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 2000,
        b"HTTP/1.1 200 " + b"a" * 2000,
        b"HTTP/1.1 200 OK\r\n" + b"X: aaaaaaaaaaaaaaaa\r\n" * 9 + b"Y: " + b"a" * 900 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"x: 1\r\n" * 11 + b"\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 100,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;" + b"x" * 2000,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + b"T: aaaaaaaaa\r\n" * 200,
        b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n" + b"a" * 5000,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"a\r\n0123456789\r\n" * 450,
    ],
)
@pytest.mark.parametrize("step", [7, 600])
def test_everything_that_a_server_sends_has_a_bound(answer: bytes, step: int) -> None:
    """U15: no line without end, no head without end, no body past what was asked for."""
    with pytest.raises(ResponseBroken):
        read(answer, list(range(step, len(answer), step)), ResponseLimits(head_bytes=1000, head_count=10, body_bytes=4000))


@pytest.mark.parametrize("status", [b"000", b"099", b"600", b"999"])
def test_a_status_that_http_does_not_have_breaks_the_response(status: bytes) -> None:
    """It is no interim answer, and no final one."""
    with pytest.raises(ResponseBroken, match="a status of " + status.decode()):
        read(b"HTTP/1.1 " + status + b" Odd\r\nContent-Length: 0\r\n\r\n")


def test_interim_answers_have_a_bound_on_their_number() -> None:
    interim = b"HTTP/1.1 103 Early Hints\r\n\r\n"
    assert read(interim * 16 + LENGTH).done
    with pytest.raises(ResponseBroken, match="more than 16 interim answers"):
        read(interim * 17 + LENGTH)


def test_what_came_before_the_flaw_can_still_be_taken() -> None:
    reader = ResponseReader(ResponseLimits())
    with pytest.raises(ResponseBroken):
        reader.feed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\nzz")
    assert reader.take() == [b"he"]


def test_a_request_goes_out_as_it_was_given() -> None:
    request = ClientRequest(method=b"POST", target=b"/a?b", headers=((b"Host", b"x"), (b"X-A", b"\xe4")), body=b"ab")
    assert request.parts == [b"POST /a?b HTTP/1.1\r\nHost: x\r\nX-A: \xe4\r\ncontent-length: 2\r\n\r\nab"]
    assert ClientRequest(method=b"POST", target=b"/").parts == [b"POST / HTTP/1.1\r\ncontent-length: 0\r\n\r\n"]
    assert ClientRequest(method=b"GET", target=b"/").parts == [b"GET / HTTP/1.1\r\n\r\n"]


@pytest.mark.parametrize(
    "given",
    [
        {"method": b"GET /x"},
        {"target": b"/a b"},
        {"target": b"/a\r\nx: y"},
        {"target": b""},
        {"headers": ((b"a", b"b\r\nc: d"),)},
        {"headers": ((b"a", b"b\nc"),)},
        {"headers": ((b"a:", b"b"),)},
        {"headers": ((b"", b"b"),)},
        {"headers": ((b"Content-Length", b"1"),)},
        {"headers": ((b"transfer-encoding", b"chunked"),)},
    ],
)
def test_a_request_that_could_be_read_as_two_is_never_made(given: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"word|framing"):
        ClientRequest(**{"method": b"GET", "target": b"/", **given})


@pytest.mark.parametrize("before", [LENGTH, CHUNKED, INTERIM + LENGTH])
@pytest.mark.parametrize("answer", [LENGTH, CHUNKED, INTERIM + LENGTH, TO_THE_END])
@given(data=st.data())
@settings(max_examples=examples(20))
def test_a_reader_that_was_used_before_reads_like_a_new_one(before: bytes, answer: bytes, data: st.DataObject) -> None:
    """A connection keeps its reader: nothing of one answer is left for the next, wherever the next is cut."""
    cut = data.draw(st.integers(0, len(answer)))
    used = read(before)
    assert used.taken() == b"hello"
    used.again(ResponseLimits())
    new = read(answer, [cut])
    for piece in (answer[:cut], answer[cut:]):
        if piece:
            used.feed(piece)
    assert (used.head, used.done, used.keep_alive, used.take()) == (new.head, new.done, new.keep_alive, new.take())


@pytest.mark.parametrize("close", [b"", b"Connection: close\r\n"])
@given(data=st.data())
@settings(max_examples=examples(30, soak=1000))
def test_streams_that_come_side_by_side_do_not_mix(close: bytes, data: st.DataObject) -> None:
    """Between two chunks a stream has no parser, and takes whichever rests; each is still read to its own end."""
    paragraphs = [b"data: %d\n\n" % number for number in range(6)]
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(each), each) for each in paragraphs)
    answers = [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n%b\r\n" % more for more in (close, b"", close)]
    readers = [ResponseReader(ResponseLimits()) for _ in answers]
    cut = st.sampled_from(range(14, len(chunks), 14)) | st.integers(1, len(chunks) - 1)
    places = [[0, *sorted(data.draw(st.lists(cut, max_size=6))), len(chunks)] for _ in answers]
    for reader, head in zip(readers, answers, strict=True):
        reader.feed(head)
    for turn in range(max(map(len, places))):
        for reader, row in zip(readers, places, strict=True):
            for start, end in list(pairwise(row))[turn : turn + 1]:
                reader.feed(chunks[start:end]) if end > start else None
    for reader in readers:
        reader.feed(b"0\r\n\r\n")
    said, kept = b"".join(paragraphs), not close
    assert [(each.done, each.keep_alive, b"".join(each.take())) for each in readers] == [
        (True, kept, said),
        (True, True, said),
        (True, kept, said),
    ]


def test_a_stream_between_two_chunks_has_no_parser() -> None:
    """Thousands of streams wait there."""
    reader = read(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na\n\n\r\n")
    assert (reader.is_level, reader._parser) == (True, None)
    reader.feed(b"3\r\nb")
    assert (reader.is_level, reader._parser is None) == (False, False)
    reader.feed(b"\n\n\r\n")
    assert (b"".join(reader.take()), reader._parser) == (b"a\n\nb\n\n", None)
