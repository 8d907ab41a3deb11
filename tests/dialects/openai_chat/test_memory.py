"""What a translated stream takes while it lasts: as much for a long one as for a short one."""

import tracemalloc

import pytest

from clew.dialects.openai_chat.decoder import Asked
from clew.dialects.openai_chat.speech import Speech
from clew.dialects.openai_chat.translate import Translation
from clew.pipeline.stream.dress import Dress
from clew.pipeline.stream.translated import TranslatedRelay
from tests.fuzz.vendors import Manner, Segment, written
from tests.golden.driving import wear

EVENTS = 20_000


def grown(shape: str, envelope: str, events: int) -> tuple[int, int]:
    """The bytes that a stream of so many like deltas leaves in memory while it is open, and those that it said."""
    opening = written(
        [Segment("call begins", ['{"a long enough beginning":']), Segment(shape, ["a"])], envelope, Manner(), ""
    )
    delta, *_ = written([Segment(shape, ["word "])], envelope, Manner(), "")
    relay = TranslatedRelay(Dress(wear()), Translation(Asked("m"), Speech()), keep=False, blocks=False)
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
