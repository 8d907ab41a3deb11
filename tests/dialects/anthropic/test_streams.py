"""Reading a Messages stream for a client of another dialect."""

from __future__ import annotations

from clew.dialects.anthropic.requests import AnthropicOptions
from clew.dialects.anthropic.streams import AnthropicStreamReader
from clew.dialects.shape import AnswerContext
from clew.model.events import BlockStop
from clew.wire.events import encode_event
from tests.model import streams

WORDS = [streams.text(0, word) for word in ("y", "e", "s")]
TOLD = [streams.opening(model="asked"), streams.start_text(0), *WORDS, BlockStop(0), streams.ending(), streams.DONE]


def _reader() -> AnthropicStreamReader:
    return AnthropicStreamReader(AnswerContext(model="asked"), AnthropicOptions())


def test_texts_that_come_in_one_read_are_told_as_one_delta() -> None:
    events = list(_reader().feed(b"".join(map(encode_event, TOLD))))

    assert events == [*TOLD[:2], streams.text(0, "yes"), *TOLD[5:]]


def test_each_text_that_comes_by_itself_is_told_at_once() -> None:
    reader = _reader()

    assert [list(reader.feed(encode_event(event))) for event in TOLD] == [[event] for event in TOLD]
