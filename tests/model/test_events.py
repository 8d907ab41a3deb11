"""Events as values: what they refuse, what they keep."""

from typing import Any

import pytest

from clew.errors import StreamIllegal
from clew.model.events import (
    EVENTS,
    BlockDelta,
    BlockStart,
    BlockStop,
    Event,
    MessageDelta,
    MessageStart,
    MessageStop,
    Ping,
    StreamFailed,
    Unknown,
    altered,
    data_of,
    read_event,
    with_raw,
)
from clew.model.json import JsonObject

SAMPLES: list[tuple[Event, bytes]] = [
    (MessageStart({"id": "msg_1"}), b'{"type":"message_start","message":{"id":"msg_1"}}'),
    (
        BlockStart(0, {"type": "text", "text": ""}),
        b'{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
    ),
    (
        BlockDelta(0, {"type": "text_delta", "text": "é"}),
        '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"é"}}'.encode(),
    ),
    (BlockStop(0), b'{"type":"content_block_stop","index":0}'),
    (
        MessageDelta({"stop_reason": "end_turn"}, {"output_tokens": 3}, extra={"context_management": None}),
        b'{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3},"context_management":null}',
    ),
    (MessageStop(), b'{"type":"message_stop"}'),
    (Ping(), b'{"type":"ping"}'),
    (
        StreamFailed({"type": "overloaded_error", "message": "Overloaded"}),
        b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
    ),
]


@pytest.mark.parametrize(("event", "data"), SAMPLES, ids=lambda each: getattr(each, "type", ""))
def test_an_event_is_written_as_the_vendor_writes_it(event: Event, data: bytes) -> None:
    assert data_of(event) == data


def test_there_is_a_sample_for_every_event() -> None:
    assert [event.type for event, _ in SAMPLES] == list(EVENTS)


def test_members_that_nobody_knows_are_kept() -> None:
    data: JsonObject = {"type": "content_block_stop", "index": 0, "new": [1]}

    assert read_event(data) == BlockStop(0, extra={"new": [1]})
    assert data_of(read_event(data)) == b'{"type":"content_block_stop","index":0,"new":[1]}'


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"type": "message_start"}, "message_start: message must be dict, not NoneType"),
        ({"type": "content_block_start", "index": 0}, "content_block_start: content_block must be dict, not NoneType"),
        (
            {"type": "content_block_start", "index": 0, "content_block": {}},
            "content_block_start: content_block.type must be str, not NoneType",
        ),
        ({"type": "content_block_stop", "index": "0"}, "content_block_stop: index must be int, not str"),
        ({"type": "content_block_stop", "index": True}, "content_block_stop: index must be int, not bool"),
        (
            {"type": "content_block_delta", "index": 0, "delta": {}},
            "content_block_delta: delta.type must be str, not NoneType",
        ),
        (
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": 1}},
            "content_block_delta: delta.text must be str, not int",
        ),
        (
            {"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta"}},
            "content_block_delta: delta.citation must be dict, not NoneType",
        ),
        ({"type": "message_delta", "delta": {}, "usage": 1}, "message_delta: usage must be dict or NoneType, not int"),
        ({"type": "error", "error": "Overloaded"}, "error: error must be dict, not str"),
    ],
)
def test_an_event_with_a_wrong_member_cannot_be_built(data: JsonObject, words: str) -> None:
    with pytest.raises(StreamIllegal, match=words) as caught:
        read_event(data)

    assert caught.value.event == data["type"]


def test_an_event_cannot_be_changed() -> None:
    event: Any = BlockStop(0)

    with pytest.raises(AttributeError):
        event.index = 1


def test_an_event_that_was_read_keeps_its_bytes_until_it_is_altered() -> None:
    """Padding included; an altered copy must not be written with the old bytes."""
    event = with_raw(BlockStop(0), b'{"type":"content_block_stop","index":0   }')

    assert data_of(event) == b'{"type":"content_block_stop","index":0   }'
    assert event == BlockStop(0)
    assert data_of(altered(event, index=1)) == b'{"type":"content_block_stop","index":1}'


def test_an_unknown_event_is_its_bytes() -> None:
    assert data_of(Unknown("future", b"anything")) == b"anything"
