"""Whole events out of bytes at any cut: line ends, byte order mark, bounds."""

import time

import pytest

from clew.errors import SseTooLarge
from clew.wire.sse import Frames, SseLimits


def fed(*chunks: bytes, limits: SseLimits | None = None) -> list[bytes]:
    frames = Frames(limits or SseLimits())
    return [*map(frames.feed, chunks), frames.flush()]


def test_a_read_of_whole_events_passes_as_it_came() -> None:
    chunk = b"data: 1\n\ndata: 2\n\n"

    assert fed(chunk) == [chunk, b""]


def test_the_rest_of_a_read_waits_for_its_end() -> None:
    assert fed(b"data: 1\n\nda", b"ta: 2\n", b"\n") == [b"data: 1\n\n", b"", b"data: 2\n\n", b""]


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_every_line_end_becomes_lf(end: bytes) -> None:
    """HTML standard: a line ends with CRLF, LF or CR."""
    assert fed(b"event: a" + end + b"data: 1" + end + end)[0] == b"event: a\ndata: 1\n\n"


def test_a_crlf_that_is_cut_in_two_is_one_line_end() -> None:
    """The event is out at the CR; the LF that follows belongs to it and opens no line."""
    assert fed(b"data: 1\r", b"\n\r", b"\n", b"data: 2\r\n\r\n") == [b"", b"data: 1\n\n", b"", b"data: 2\n\n", b""]


def test_an_empty_read_between_cr_and_lf_changes_nothing() -> None:
    assert b"".join(fed(b"data: 1\r", b"", b"\ndata: 2\r\r")) == b"data: 1\ndata: 2\n\n"


def test_mixed_line_ends_end_an_event_too() -> None:
    assert b"".join(fed(b"data: 1\r\n\ndata: 2\n\rdata: 3\r\r\n")) == b"data: 1\n\ndata: 2\n\ndata: 3\n\n"


@pytest.mark.parametrize("chunks", [[b"\xef\xbb\xbfdata: 1\n\n"], [b"\xef", b"\xbb", b"\xbfdata: 1\n\n"]])
def test_one_byte_order_mark_at_the_start_is_dropped(chunks: list[bytes]) -> None:
    assert b"".join(fed(*chunks)) == b"data: 1\n\n"


def test_a_byte_order_mark_elsewhere_is_content() -> None:
    assert b"".join(fed(b"data: 1\n\n\xef\xbb\xbfdata: 2\n\n")) == b"data: 1\n\n\xef\xbb\xbfdata: 2\n\n"


def test_what_only_begins_like_a_byte_order_mark_is_content() -> None:
    assert b"".join(fed(b"\xef", b"\xbb", b"x: 1\n\n")) == b"\xef\xbbx: 1\n\n"


def test_the_end_of_the_stream_completes_an_event_of_whole_lines() -> None:
    assert fed(b"data: 1\n") == [b"", b"data: 1\n\n"]


def test_what_the_end_of_the_stream_cut_inside_a_line_is_dropped() -> None:
    assert fed(b'data: {"a":') == [b"", b""]


@pytest.mark.parametrize("chunk_size", [1, 7, 1 << 20])
def test_a_line_at_its_bound_passes_and_one_byte_more_is_refused(chunk_size: int) -> None:
    """Both when it grows over many reads and when it comes in one."""

    def read(line: bytes) -> bytes:
        frames = Frames(SseLimits(line=20, event=100))
        data = line + b"\n\n"
        return b"".join(frames.feed(data[i : i + chunk_size]) for i in range(0, len(data), chunk_size))

    assert read(b"data: " + b"x" * 14) == b"data: " + b"x" * 14 + b"\n\n"
    with pytest.raises(SseTooLarge, match="an SSE line of at least 21 bytes is over the bound of 20"):
        read(b"data: " + b"x" * 15)


@pytest.mark.parametrize("chunk_size", [1, 7, 1 << 20])
def test_an_event_within_its_bound_passes_and_one_over_it_is_refused(chunk_size: int) -> None:
    def read(lines: int, last: bytes) -> int:
        frames = Frames(SseLimits(line=20, event=60))
        data = b"data: xxx\n" * lines + last + b"\n\n"
        return len(b"".join(frames.feed(data[i : i + chunk_size]) for i in range(0, len(data), chunk_size)))

    assert read(5, b"data: xxx") == 61
    with pytest.raises(SseTooLarge, match="an SSE event of at least"):
        read(6, b"data: xxx")


def test_a_line_that_never_ends_is_refused_while_it_grows() -> None:
    frames = Frames(SseLimits(line=1000, event=5000))

    assert [frames.feed(b"x" * 100) for _ in range(10)] == [b""] * 10
    with pytest.raises(SseTooLarge):
        frames.feed(b"x")


def test_many_small_events_in_one_large_read_are_within_bounds() -> None:
    chunk = b"data: 1\n\n" * 100

    assert fed(chunk, limits=SseLimits(line=10, event=20))[0] == chunk


def test_single_byte_reads_cost_linear_time() -> None:
    """X20: twice the bytes take about twice the time, not four times, also where an event has many lines."""

    def seconds(lines: int) -> float:
        frames = Frames(SseLimits())
        data = b"data: x\n" * lines
        started = time.thread_time()
        for i in range(len(data)):
            frames.feed(data[i : i + 1])
        return time.thread_time() - started

    small = min(seconds(4_000) for _ in range(3))
    assert min(seconds(16_000) for _ in range(3)) < 12 * small
