"""What is written at once is what events would have been written as: byte for byte, read by read."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any
from unittest.mock import Mock, patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from clew.dialects.openai_chat import shapes
from clew.dialects.openai_chat.answer.decoder import Asked
from clew.dialects.openai_chat.answer.translate import Translation
from clew.dialects.openai_chat.speech import Speech
from clew.dialects.openai_chat.unread.known_moulds import KnownMoulds
from clew.dialects.openai_chat.unread.writing import Writing
from clew.model.events import Event
from clew.pipeline.stream.dress import Dress
from clew.pipeline.stream.relay import Relays
from clew.pipeline.stream.sealing import seal_bytes
from clew.pipeline.stream.translated import TranslatedRelay
from clew.pipeline.stream.written import WrittenRelay
from clew.wire.events import decode_event
from clew.wire.sse import SseReader
from tests.counts import examples
from tests.fuzz.vendors import CUTS, SPEECH, STREAMS, pieces
from tests.golden.cases import Scene, scenes
from tests.golden.driving import asked_of, speech_of, wear

ASKED = Asked("m", message_id="msg_1", input_tokens=7, stops=("END",))
SCENES = [scene for _, scene in scenes("backend", "events")]


def both(*given: Any, **more: Any) -> tuple[TranslatedRelay, WrittenRelay]:
    (told, _), (written, _) = dressed(*given, **more)
    return told, written


def dressed(
    asked: Asked,
    speech: Speech,
    *,
    eager: bool = False,
    before: KnownMoulds | None = None,
    kept: bool = False,
    **worn: Any,
) -> tuple[tuple[TranslatedRelay, Dress], tuple[WrittenRelay, Dress]]:
    """`kept`: somebody wants the blocks, and what came."""
    told, writes = Dress(wear(**worn)), Dress(wear(**worn))
    seal = partial(seal_bytes, writes)
    writing = Writing(asked, speech, seal=seal, shown_id=writes.call_id, before=before, keeps=kept)
    relay = TranslatedRelay(told, Translation(asked, speech), eager=eager, keep=kept, blocks=kept)
    return (relay, told), (WrittenRelay(writes, writing, eager=eager, keep=kept, counts=kept), writes)


def state(relay: Relays) -> tuple[object, ...]:
    """All that somebody may ask between two reads."""
    answer = relay.answer(blocks=False)
    said = answer.message, str(answer.illegal)
    return relay.begun, relay.ended, relay.stops, relay.failure, relay.held, relay.raw, said


def kept(relay: Relays) -> tuple[object, ...]:
    """The same of one whose blocks are kept. The message of an answer that is not over may have the open block, or not."""
    answer = relay.answer(blocks=True)
    message = answer.message if relay.ended else {**answer.message, "content": []}
    return *state(relay)[:-1], answer.blocks, message, str(answer.illegal), relay.late


def agree(
    stream: list[bytes],
    told: Relays,
    written: Relays,
    said: Callable[[bytes], object] = bytes,
    state: Callable[[Relays], object] = state,
) -> None:
    """`said`: what is compared of the bytes."""
    assert said(written.begin()) == said(told.begin())
    for piece in stream:
        assert said(written.feed(piece)) == said(told.feed(piece))
        assert state(written) == state(told)
    assert said(written.flush()) == said(told.flush())
    assert state(written) == state(told)


def events_in(raw: bytes) -> list[Event]:
    """Whichever way a character is spelt: a word that passes unread keeps its escapes, and one that is read does not."""
    return [decode_event(each) for each in SseReader().feed(raw)]


@settings(max_examples=examples(200, soak=30_000), deadline=None)
@given(STREAMS, SPEECH, CUTS, st.booleans(), st.booleans(), st.booleans())
def test_what_is_written_at_once_is_what_events_would_have_been_written_as(
    events: list[bytes], speech: Speech, cuts: list[int], eager: bool, safe: bool, blank: bool
) -> None:
    """Whatever is streamed, and wherever it is cut."""
    agree(pieces(b"".join(events), cuts), *both(ASKED, speech, eager=eager, safe_ids=safe, blank=blank))


@settings(max_examples=examples(100, soak=10_000), deadline=None)
@given(STREAMS, SPEECH)
def test_so_are_events_that_come_alone(events: list[bytes], speech: Speech) -> None:
    agree(events, *both(ASKED, speech))


@settings(max_examples=examples(200, soak=30_000), deadline=None)
@given(STREAMS, SPEECH, CUTS, st.booleans(), st.booleans(), st.booleans())
def test_blocks_that_are_kept_are_those_that_events_would_have_made(
    events: list[bytes], speech: Speech, cuts: list[int], eager: bool, safe: bool, blank: bool
) -> None:
    """At every moment, the calls with their maker's own ids, and the thoughts with what it needs back."""
    (told, one), (written, other) = dressed(ASKED, speech, eager=eager, safe_ids=safe, blank=blank, kept=True)
    agree(pieces(b"".join(events), cuts), told, written, state=kept)
    blocks = written.answer(blocks=True).blocks
    held = [[structs.asdict(block) for block in dress.held(blocks)] for dress in (one, other)]
    assert held[0] == held[1], "what the client holds of them"


def test_what_is_counted_is_what_came() -> None:
    written = both(ASKED, Speech(), kept=True)[1]
    event = b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n'
    chunk = b"%x\r\n%b\r\n" % (len(event), event)
    written.feed(event)
    assert written.passes(chunk, len(chunk))
    assert (written.size, written.raw) == (2 * len(event), 2 * event)


@settings(max_examples=examples(150, soak=20_000), deadline=None)
@given(STREAMS, SPEECH, CUTS, st.booleans(), st.booleans())
def test_so_are_chunks_that_are_a_read_of_their_own(
    events: list[bytes], speech: Speech, cuts: list[int], whole: bool, keeps: bool
) -> None:
    """What goes on for a chunk is a chunk with what goes on for its body."""
    (told, written), asked = both(ASKED, speech, kept=keeps), kept if keeps else state
    for piece in events if whole else pieces(b"".join(events), cuts):
        chunk = b"%x\r\n%b\r\n" % (len(piece), piece)
        passed = written.passes(chunk, len(chunk)) if piece else b""
        new = told.feed(piece)
        assert (passed == b"%x\r\n%b\r\n" % (len(new), new)) if passed else (written.feed(piece) == new)
        assert asked(written) == asked(told)


def test_most_chunks_take_the_shortest_way() -> None:
    """All but the first of each block, and none where something is left over from the read before."""
    written = both(ASKED, Speech())[1]
    lead, taken = b'data: {"choices":[{"delta":{', list[bool]()
    for said in (b'"reasoning":"a"', b'"reasoning":"b"', b'"content":"c"', b'"content":"d"', b'"content":"\xff"'):
        event = lead + said + b"}}]}\n\n"
        chunk = b"%x\r\n%b\r\n" % (len(event), event)
        taken.append(bool(written.passes(chunk, len(chunk))))
        if not taken[-1]:
            written.feed(event)
    assert taken == [False, True, False, True, False]


@pytest.mark.slow
@settings(max_examples=examples(150, soak=20_000), deadline=None)
@given(st.lists(STREAMS, min_size=2, max_size=3), SPEECH, CUTS)
def test_what_is_known_from_answers_before_changes_nothing(
    answers: list[list[bytes]], speech: Speech, cuts: list[int]
) -> None:
    """Each answer with its own id, and the first once more: a mould means what it meant, whatever names the answer."""
    before = KnownMoulds()
    for number, events in enumerate([*answers, answers[0]]):
        stream = [re.sub(rb'("id": ?")', rb"\g<1>%d" % number, event) for event in events]
        agree(pieces(b"".join(stream), cuts), *both(ASKED, speech, before=before), said=events_in)


def test_what_is_known_spares_reading_the_first_words_of_the_next_answer() -> None:
    """Else the property above would hold for nothing."""
    before, read = KnownMoulds(), Mock(side_effect=shapes.read_value)
    with patch.object(shapes, "read_value", read):
        for number in range(3):
            read.reset_mock()
            lead = b'data: {"id":"c-%d","object":"chat.completion.chunk","choices":[{"index":0,"delta":{' % number
            stream = [lead + said + b"}}]}\n\n" for said in (b'"role":"assistant"', b'"reasoning":"a"', b'"content":"b"')]
            agree(stream, *both(ASKED, Speech(), before=before))
            told = both(ASKED, Speech(), before=before)[1]
            read.reset_mock()
            for each in stream:
                told.feed(each)
    assert read.call_count == 1, "what names the answer"


@pytest.mark.parametrize(
    "odd",
    [
        b'{"id":"c","usage":{"prompt_tokens":9},"choices":[{"delta":{"content":"b"}}]}',
        b'{"id":"c","error":{"message":"no"},"choices":[{"delta":{"content":"b"}}]}',
        b'{"id":"c","object":"error","choices":[{"delta":{"content":"b"}}]}',
        b'{"id":{"choices":[]},"choices":[{"delta":{"content":"b"}}]}',
        b'{"id":"c","choices":[{"delta":{"content":"b"}}],"error":{"message":"no"}}',
        b'{"id":"c","choices":[{"delta":{"content":"b","reasoning_content":""}}]}',
        b'{"id":"c","choices":[{"delta":{"role":"assistant","reasoning_content":""}}]}',
        b'{"id":"c","choices":[{"delta":{"role":"assistant"}}],"usage":{"prompt_tokens":9}}',
        b'{"id":"c","choices":[{"delta":{"role":"assistant"}}],"error":{"message":"no"}}',
        b'{"id":"c","choices":[{"delta":{"role":"assistant"},"finish_reason":"stop"}]}',
    ],
)
def test_what_says_more_than_a_word_is_read_each_time(odd: bytes) -> None:
    before, speech = KnownMoulds(), Speech(empty_counts=True)
    called = b'{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"i","function":{"name":"t","arguments":"{}"}}]}}]}'
    for stream in ([odd], [odd, odd], [odd, called], [odd.replace(b'"b"', b'"c"'), called]):
        agree([b"data: %b\n\n" % each for each in stream], *both(ASKED, speech, before=before))


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.id)
def test_every_golden_stream_is_written_as_it_is_told(scene: Scene) -> None:
    """In one read, with a read for each event, and cut in the middle of each."""
    raw = scene.sections["backend"]
    events = [each + b"\n\n" for each in raw.split(b"\n\n")]
    events[-1] = events[-1][:-2]
    halves = [half for each in events for half in (each[: len(each) // 2], each[len(each) // 2 :])]
    for stream in ([raw], events, halves):
        agree(stream, *both(asked_of(scene), speech_of(scene), secret="sk-secret"))
        agree(stream, *both(asked_of(scene), speech_of(scene), secret="sk-secret", kept=True), state=kept)


def test_an_error_that_repeats_the_key_does_not_get_through() -> None:
    stream = [b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n', b'data: {"error":{"message":"no m-key"}}\n\n']
    told, written = both(ASKED, Speech(), secret="m-key")
    agree(stream, told, written)
    assert written.failure is not None
    assert "m-key" not in str(written.failure)
