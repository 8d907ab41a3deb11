"""A relay for an answer in another dialect."""

from __future__ import annotations

from clew.model.events import Event
from clew.model.json import JsonObject
from clew.model.origin import Origin
from clew.pipeline.stream.client_view import ClientView, ViewOptions
from clew.pipeline.stream.translation import TranslatedAnswer
from tests.pipeline.stream.wearing import events_in, translated_answer

ORIGIN = Origin("deepseek", "deepseek", "deepseek-chat", "")
START = (
    b'event: message_start\ndata: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant",'
    b'"content":[],"model":"asked","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":0}}}\n\n'
)
TEXT = (
    b'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n'
    b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}\n\n'
)
STOP = b'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n'
ERROR = b'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"gone"}}\n\n'


class _Spoken:
    """A translation whose words are known beforehand."""

    late: JsonObject | None = None

    def __init__(self, said: bytes, end: bytes = b"", *, eager: bool = False) -> None:
        self._said, self._end, self._eager = events_in(said), events_in(end), eager

    def begin(self) -> list[Event]:
        return events_in(START) if self._eager else []

    def feed(self, data: bytes) -> list[Event]:
        return self._said

    def flush(self) -> list[Event]:
        return self._end


def _relay(translation: _Spoken, *, keep: bool = True) -> TranslatedAnswer:
    return translated_answer(ClientView(ViewOptions(model="asked", exchange="e", origin=ORIGIN)), translation, keep=keep)


def test_what_came_stays_in_the_backends_own_words() -> None:
    relay = _relay(_Spoken(START + TEXT))
    assert relay.feed(b"data: {}\n\n") == START + TEXT
    assert relay.raw == b"data: {}\n\n"


def test_what_came_is_not_kept_where_nobody_wants_to_see_it() -> None:
    relay = _relay(_Spoken(START + TEXT), keep=False)
    relay.feed(b"data: {}\n\n")
    assert relay.raw == b""


def test_a_block_that_breaks_off_is_whole_neither_for_the_client_nor_for_the_recording() -> None:
    """S3-22 and design §4: a block counts from its stop event."""
    relay = _relay(_Spoken(START + TEXT, ERROR))
    assert relay.feed(b"x") + relay.flush() == START + TEXT + ERROR
    assert (relay.answer().blocks, relay.so_far()().cut) == ((), relay.answer().cut)
    assert relay.answer().cut != ()


def test_an_eager_answer_has_begun_with_its_message_and_waits_for_its_first_block() -> None:
    relay = _relay(_Spoken(TEXT, eager=True))
    assert relay.begin() == b""
    assert relay.feed(b"x") == START + TEXT
