"""The events do not depend on where the network cut the bytes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.model.assemble import AssembledBlock, Assembler
from clew.model.events import Event
from clew.model.json import JsonObject
from clew.model.unfold import events_of
from clew.wire.events import decode_event
from clew.wire.sse import SseEvent, SseReader
from tests.counts import SOAK, examples
from tests.manifest import accepts
from tests.model.test_unfold import WHOLE
from tests.properties.stream_strategies import answers, cut, wire_bytes


def read(chunks: list[bytes]) -> list[SseEvent]:
    reader = SseReader()
    return [event for chunk in chunks for event in reader.feed(chunk)] + reader.flush()


def told(chunks: list[bytes]) -> tuple[JsonObject, list[AssembledBlock]]:
    """Bytes to message, all the way."""
    assembler = Assembler()
    finished = [block for sse in read(chunks) if (block := assembler.feed(decode_event(sse)))]
    return assembler.message(), finished


@accepts("rule:R65")
@given(events=answers(), data=st.data())
@settings(max_examples=examples(36, soak=1500), deadline=None)
def test_a_stream_is_the_same_wherever_it_is_cut(events: list[Event], data: st.DataObject) -> None:
    """Style gallery 1: in any spelling of line ends, padding and comments, also inside a character."""
    stream = wire_bytes(events, data.draw)
    chunks = cut(stream, data.draw(st.lists(st.integers(0, len(stream)), max_size=12)))

    assert [decode_event(sse) for sse in read(chunks)] == events
    assert told(chunks) == told([stream])


@given(stream=st.text("\r\n :adet\ufeff1é", max_size=40).map(str.encode) | st.binary(max_size=40), data=st.data())
@settings(max_examples=examples(72, soak=2000), deadline=None)
def test_any_bytes_are_read_the_same_wherever_they_are_cut(stream: bytes, data: st.DataObject) -> None:
    chunks = cut(stream, data.draw(st.lists(st.integers(0, len(stream)), max_size=12)))

    assert read(chunks) == read([stream])


@accepts("rule:R65")
@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
def test_one_stream_cut_once_at_every_place(line_end: bytes) -> None:
    """More than 3,000 positions; the stream holds every kind of block. The whole way to the message at some of them."""
    stream = wire_bytes(events_of(WHOLE, chunk=2)).replace(b"\n", line_end)
    places = range(len(stream) + 1)
    events = read([stream])
    assembled = told([stream])

    assert len(stream) > 3_000
    assert [place for place in places if read(cut(stream, [place])) != events] == []
    assert [place for place in places[:: 1 if SOAK else 25] if told(cut(stream, [place])) != assembled] == []


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 1000])
def test_one_stream_in_pieces_of_one_size(size: int) -> None:
    """1-byte reads split every character and every line end."""
    stream = wire_bytes(events_of(WHOLE, chunk=5))

    assert told(cut(stream, range(size, len(stream), size))) == told([stream])
