"""Reading along: what is passed over, what never is."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import StreamIllegal
from clew.wire.sse import PING, SseEvent, SseReader, sse_bytes
from clew.wire.watch import Watch, thoughts
from tests.counts import examples


def delta(kind: str, member: str, value: str, index: int = 0) -> bytes:
    data = f'{{"type":"content_block_delta","index":{index},"delta":{{"type":"{kind}","{member}":"{value}"}}  }}'
    return sse_bytes(b"content_block_delta", data.encode())


TEXT = delta("text_delta", "text", "a", 12)
INPUT = delta("input_json_delta", "partial_json", '\\"signature_delta\\"')
THINKING = delta("thinking_delta", "thinking", "hm\\n")
SIGNATURE = delta("signature_delta", "signature", "S")
STOP = sse_bytes(b"content_block_stop", b'{"type":"content_block_stop","index":0}')
ODD_TEXT = sse_bytes(
    b"content_block_delta", b'{"index":0,"type":"content_block_delta","delta":{"type":"text_delta","text":"a"}}'
)
NESTED = sse_bytes(
    b"content_block_delta",
    b'{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"type":"text_delta"}}}',
)
COMMENT = b": note\n\n"
MULTI = b"event: x\ndata: 1\ndata: 2\n\n"
PIECES = [TEXT, INPUT, THINKING, SIGNATURE, STOP, ODD_TEXT, NESTED, COMMENT, MULTI, PING]
DULL = {TEXT, INPUT, PING, COMMENT}


def watched(*chunks: bytes) -> list[SseEvent]:
    watch = Watch()
    return [event for chunk in chunks for event in watch.feed(chunk)] + watch.flush()


@given(pieces=st.lists(st.sampled_from(PIECES)), data=st.data())
@settings(max_examples=examples(200), deadline=None)
def test_the_watch_sees_what_the_reader_sees_but_for_dull_events(pieces: list[bytes], data: st.DataObject) -> None:
    """Wherever the bytes are cut."""
    stream = b"".join(pieces)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    bounds = [0, *cuts, len(stream)]
    expected = [event for piece in pieces if piece not in DULL for event in SseReader().feed(piece)]

    assert watched(*(stream[a:b] for a, b in pairwise(bounds))) == expected


def test_an_unusual_spelling_of_a_text_delta_is_handed_out_rather_than_guessed() -> None:
    assert watched(ODD_TEXT + NESTED) == SseReader().feed(ODD_TEXT + NESTED)


def test_a_stream_without_its_last_empty_line_is_watched_to_the_end() -> None:
    assert watched(TEXT + STOP[:-1]) == SseReader().feed(STOP)


def test_the_thoughts_of_a_batch_are_read_at_once() -> None:
    found = thoughts(watched(THINKING + TEXT + NESTED + THINKING + SIGNATURE + STOP))

    assert [(each.index, each.delta.thinking, each.delta.signature) for each in found] == [
        (0, "hm\n", None),
        (0, "hm\n", None),
        (0, None, "S"),
    ]


def test_no_thoughts_are_none() -> None:
    assert thoughts([]) == []


@pytest.mark.parametrize("data", [b"{", b'{"index":0,"delta":{"thinking":1}}', b'{"delta":{"thinking":"\xff"}}', b"{},{}"])
def test_a_delta_that_cannot_be_read_is_said_to_be_so(data: bytes) -> None:
    with pytest.raises(StreamIllegal):
        thoughts([SseEvent(b"content_block_delta", data)])
