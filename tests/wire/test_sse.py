"""The SSE reader and writer, after the HTML standard's event stream interpretation."""

import pytest
from anthropic._streaming import SSEDecoder

from clew.errors import SseTooLarge
from clew.wire.sse import PING, SseEvent, SseLimits, SseReader, sse_bytes
from tests.manifest import accepts


def read(*chunks: bytes) -> list[SseEvent]:
    reader = SseReader()
    return [event for chunk in chunks for event in reader.feed(chunk)] + reader.flush()


@accepts("rule:R65")
def test_an_event_is_a_name_line_and_a_data_line() -> None:
    """R65: each event is an `event:` line and one `data:` JSON line."""
    assert read(b'event: ping\ndata: {"type": "ping"}\n\n') == [SseEvent(b"ping", b'{"type": "ping"}')]


@accepts("rule:R65")
def test_padding_before_the_last_brace_stays_in_the_data() -> None:
    """R65: data lines carry a random run of spaces before the final brace; a relay may keep it."""
    padded = b'{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"o.py\\""}  }'

    assert read(b"event: content_block_delta\ndata: " + padded + b"\n\n") == [SseEvent(b"content_block_delta", padded)]


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: 1\n\n", [(b"", b"1")]),
        (b"data:1\n\n", [(b"", b"1")]),
        (b"data:  1\n\n", [(b"", b" 1")]),
        (b"event:a\ndata:1\n\n", [(b"a", b"1")]),
        (b"event:  a\ndata: 1\n\n", [(b" a", b"1")]),
        (b"data: 1\nevent: a\n\n", [(b"a", b"1")]),
        (b"event: a\nevent: b\ndata: 1\n\n", [(b"b", b"1")]),
        (b"data: 1\ndata: 2\n\n", [(b"", b"1\n2")]),
        (b"event: a\ndata: 1\ndata:\ndata: 3\n\n", [(b"a", b"1\n\n3")]),
        (b"data\n\n", [(b"", b"")]),
        (b"data:\n\n", [(b"", b"")]),
        (b"data\ndata\n\n", [(b"", b"\n")]),
        (b"event: a\n\n", []),
        (b"event: a\n\ndata: 1\n\n", [(b"", b"1")]),
        (b": a comment\n\n", []),
        (b":\n\n: \n\n", []),
        (b"event: a\n: between\ndata: 1\n\n", [(b"a", b"1")]),
        (b"id: 7\nretry: 100\nevent: a\ndata: 1\n\n", [(b"a", b"1")]),
        (b"foo: bar\nevent: a\ndata: 1\n\n", [(b"a", b"1")]),
        (b" data: 1\n\n", []),
        (b"\n\n\ndata: 1\n\n\n\n\ndata: 2\n\n", [(b"", b"1"), (b"", b"2")]),
        (b"data: a: b\n\n", [(b"", b"a: b")]),
        (b"event: a\ndata: 1\n", [(b"a", b"1")]),
        (b"event: a\ndata: 1", []),
        (b"data: [DONE]\n\n", [(b"", b"[DONE]")]),
        (b"data: \xff\xfe\n\n", [(b"", b"\xff\xfe")]),
        ("data: \u2028\u0085\x0b\x0c\n\n".encode(), [(b"", "\u2028\u0085\x0b\x0c".encode())]),
    ],
)
def test_fields_are_read_as_the_standard_says(stream: bytes, events: list[tuple[bytes, bytes]]) -> None:
    """HTML standard 9.2.6; an event without a data line is not dispatched."""
    assert read(stream) == [SseEvent(*event) for event in events]


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_line_ends_make_no_difference(end: bytes) -> None:
    lines = [b": hello", b"event: a", b"data: 1", b"data: 2", b"", b"data: 3", b"", b""]

    assert read(end.join(lines)) == [SseEvent(b"a", b"1\n2"), SseEvent(b"", b"3")]


def test_a_stream_reads_as_in_the_official_sdk() -> None:
    """Differential: the anthropic package's own decoder sees the same names and data."""
    stream = b'event: a\ndata: {"x":"\xc3\xa9"}\n\n: note\n\nevent: b\r\ndata: 1\r\ndata: 2\r\n\r\ndata: 3\n\n'
    theirs = [((sse.event or "").encode(), sse.data.encode()) for sse in SSEDecoder().iter_bytes(iter([stream]))]

    assert [(event.name, event.data) for event in read(stream)] == theirs


def test_a_bound_on_a_line_is_kept() -> None:
    """3.12: SSE line 4 MB, event 16 MB, both configurable."""
    assert SseLimits() == SseLimits(line=4 << 20, event=16 << 20)
    with pytest.raises(SseTooLarge):
        SseReader(SseLimits(line=10, event=100)).feed(b"data: 123456\n\n")


def test_what_is_written_is_read_back() -> None:
    assert read(sse_bytes(b"a", b"1") + sse_bytes(b"", b"2") + b":\n\n" + b": still here\n\n" + PING) == [
        SseEvent(b"a", b"1"),
        SseEvent(b"", b"2"),
        SseEvent(b"ping", b'{"type": "ping"}'),
    ]


def test_the_usual_event_is_written_as_the_vendor_writes_it() -> None:
    assert sse_bytes(b"a", b'{"x":1}') == b'event: a\ndata: {"x":1}\n\n'


@pytest.mark.parametrize("data", [b"1\n2", b"1\r2", b"1\r\n2"])
def test_data_with_line_ends_is_written_as_several_lines(data: bytes) -> None:
    """A raw line end inside `data:` would end the event; between JSON tokens every line end means the same."""
    assert sse_bytes(b"a", data) == b"event: a\ndata: 1\ndata: 2\n\n"


@pytest.mark.parametrize("bad", [b"a\n", b"a\rb"])
def test_a_name_or_comment_cannot_smuggle_in_a_line(bad: bytes) -> None:
    with pytest.raises(AssertionError):
        sse_bytes(bad, b"1")
