"""What a translated stream takes while it lasts: as much for a long one as for a short one."""

import tracemalloc
from functools import partial

import pytest

from clew.dialects.openai_chat.decoder import Asked
from clew.dialects.openai_chat.speech import Speech
from clew.dialects.openai_chat.translate import Translation
from clew.dialects.openai_chat.writing import Writing
from clew.pipeline.stream.dress import Dress
from clew.pipeline.stream.relay import Relays
from clew.pipeline.stream.sealing import seal_bytes
from clew.pipeline.stream.translated import TranslatedRelay
from clew.pipeline.stream.written import WrittenRelay
from tests.fuzz.vendors import Manner, Segment, written
from tests.golden.driving import wear

EVENTS = 20_000


def told() -> Relays:
    return TranslatedRelay(Dress(wear()), Translation(Asked("m"), Speech()), keep=False, blocks=False)


def written_at_once() -> Relays:
    dress = Dress(wear())
    writing = Writing(Asked("m"), Speech(), seal=partial(seal_bytes, dress), shown_id=dress.call_id)
    return WrittenRelay(dress, writing)


def grown(shape: str, envelope: str, events: int) -> tuple[int, int]:
    """The bytes that a stream of so many like deltas leaves in memory while it is open, and those that it said."""
    (taken, said), others = (_grown(relay, shape, envelope, events) for relay in (told(), written_at_once()))
    return max(taken, others[0]), said


def _grown(relay: Relays, shape: str, envelope: str, events: int) -> tuple[int, int]:
    opening = written(
        [Segment("call begins", ['{"a long enough beginning":']), Segment(shape, ["a"])], envelope, Manner(), ""
    )
    delta, *_ = written([Segment(shape, ["word "])], envelope, Manner(), "")
    for each in opening:
        relay.feed(each)
    tracemalloc.start()
    try:
        for _ in range(events):
            relay.feed(delta)
        return tracemalloc.get_traced_memory()[0], len("word ") * events
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.parametrize("envelope", ["plain", "usage in each"])
def test_a_text_takes_no_memory_however_long_it_is(envelope: str) -> None:
    """Both where its events pass unread and where each is read."""
    assert grown("content", envelope, EVENTS)[0] < 20_000


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["reasoning", "call goes on"])
@pytest.mark.parametrize(("envelope", "each"), [("plain", 0), ("usage in each", 64)])
def test_a_thought_and_arguments_take_little_more_than_their_words(shape: str, envelope: str, each: int) -> None:
    """A seal covers the whole thought, and arguments are compared with their repetition; neither is kept as events."""
    taken, said = grown(shape, envelope, EVENTS)
    assert taken < 4 * said + each * EVENTS + 50_000
