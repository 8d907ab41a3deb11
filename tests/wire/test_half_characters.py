"""A character that a vendor cut in two between its escapes: whole again once both halves are here."""

import pytest

from clew.errors import StreamIllegal
from clew.model.assemble import assemble
from clew.wire.events import decode_event
from clew.wire.sse import SseEvent

START = rb'{"type":"message_start","message":{"id":"m","role":"assistant","content":[],"model":"x"}}'


def delta(text: bytes) -> bytes:
    return rb'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"%b"}}' % text


def told(*texts: bytes) -> str:
    data = [
        START,
        rb'{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
        *map(delta, texts),
        rb'{"type":"content_block_stop","index":0}',
    ]
    message = assemble(decode_event(SseEvent(b"", each)) for each in data)
    return message["content"][0]["text"]


@pytest.mark.parametrize(
    ("texts", "whole"),
    [
        ([rb"a\ud83d", rb"\ude00b"], "a😀b"),
        ([rb"\uD83D", b"", rb"\uDE00"], "😀"),
        ([rb"a\ud83d"], "a�"),
        ([rb"\ude00\ud83d"], "��"),
        ([rb"\ud83d\ude00"], "😀"),
    ],
)
def test_halves_become_one(texts: list[bytes], whole: str) -> None:
    """An answer must not be called broken for it: clients put the halves together too."""
    assert told(*texts) == whole


def test_what_is_no_json_stays_refused() -> None:
    with pytest.raises(StreamIllegal):
        decode_event(SseEvent(b"content_block_delta", rb'{"type":"content_block_delta","text":"\ud83d'))
