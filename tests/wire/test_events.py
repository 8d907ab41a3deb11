"""Canonical events from SSE and back."""

import pytest

from clew.errors import StreamIllegal
from clew.model.events import BlockDelta, BlockStop, Event, Ping, StreamFailed, Unknown
from clew.wire.events import decode_event, encode_event
from clew.wire.sse import SseEvent, SseReader
from tests.manifest import accepts


@accepts("rule:R65")
def test_a_padded_data_line_is_read_and_written_back_as_it_came() -> None:
    """R65: JSON-tolerant reading; a byte-exact relay keeps the padding."""
    stream = b'event: content_block_stop\ndata: {"type":"content_block_stop","index":3    }\n\n'
    event = decode_event(SseReader().feed(stream)[0])

    assert (event, encode_event(event)) == (BlockStop(3), stream)


@accepts("rule:R69")
def test_an_error_event_carries_the_vendors_error() -> None:
    """R69: {"type":"error","error":{…}}."""
    data = b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'

    assert decode_event(SseEvent(b"error", data)) == StreamFailed({"type": "overloaded_error", "message": "Overloaded"})


@accepts("rule:R65")
@pytest.mark.parametrize(
    "sse",
    [
        SseEvent(b"future_event", b'{"type":"future_event","x":1}'),
        SseEvent(b"future_event", b"no json"),
        SseEvent(b"", b"[DONE]"),
        SseEvent(b"", b"[1]"),
        SseEvent(b"x", b'{"type":["ping"]}'),
        SseEvent(b"\xff", b"\xfe"),
    ],
)
def test_what_has_no_name_that_we_know_passes_as_it_came(sse: SseEvent) -> None:
    """R65: unknown event types must be tolerated; clients also see `[DONE]` from other vendors."""
    event = decode_event(sse)

    assert isinstance(event, Unknown)
    assert SseReader().feed(encode_event(event)) == [sse]


def test_the_type_in_the_data_counts_and_not_the_name() -> None:
    """The official SDK builds the event from its data."""
    assert decode_event(SseEvent(b"", b'{"type":"ping"}')) == Ping()


@pytest.mark.parametrize("data", [b"{", b"", b'{"type":"content_block_stop","index":"\xff"}'])
def test_a_known_event_without_readable_data_is_illegal(data: bytes) -> None:
    with pytest.raises(StreamIllegal, match="the data of content_block_stop cannot be read") as caught:
        decode_event(SseEvent(b"content_block_stop", data))

    assert caught.value.event == "content_block_stop"


def test_a_made_event_is_read_back_as_itself() -> None:
    made: Event = BlockDelta(0, {"type": "text_delta", "text": 'line\nand "quote" and é'})

    assert decode_event(SseReader().feed(encode_event(made))[0]) == made
