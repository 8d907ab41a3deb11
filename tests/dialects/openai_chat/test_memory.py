"""What a translated stream takes while it lasts: as much for a long one as for a short one."""

from collections.abc import Callable
from functools import partial

import pytest

from clew.dialects.openai_chat.options import ChatOptions
from clew.dialects.openai_chat.streams import ChatStreamReader
from clew.dialects.shape import AnswerContext
from clew.pipeline.stream.answer_stream import AnswerStream
from clew.pipeline.stream.client_view import ClientView
from tests.fuzz.vendors import Manner, Segment, written
from tests.golden.driving import wear
from tests.memory import left_by
from tests.pipeline.stream.wearing import translated_answer

EVENTS = 8_000
WORD = "word "


def told() -> AnswerStream:
    return translated_answer(
        ClientView(wear()), ChatStreamReader(AnswerContext(model="m"), ChatOptions()), keep=False, blocks=False
    )


def grows_less(shape: str, envelope: str, bound: int) -> bool:
    """Whether a stream of so many like deltas leaves fewer bytes in memory while it is open."""
    delta, *_ = written([Segment(shape, [WORD])], envelope, Manner(), "")
    return left_by(partial(_streaming, told, shape, envelope, [delta] * EVENTS), enough=bound) < bound


def _streaming(
    make: Callable[[], AnswerStream], shape: str, envelope: str, deltas: list[bytes]
) -> Callable[[], AnswerStream]:
    relay = make()
    opening = [Segment("call begins", ['{"a long enough beginning":']), Segment(shape, ["a"])]
    for each in written(opening, envelope, Manner(), ""):
        relay.feed(each)

    def stream() -> AnswerStream:
        for each in deltas:
            relay.feed(each)
        return relay

    return stream


@pytest.mark.slow
@pytest.mark.parametrize("envelope", ["plain", "usage in each"])
def test_a_text_takes_no_memory_however_long_it_is(envelope: str) -> None:
    assert grows_less("content", envelope, 20_000)


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["reasoning", "call goes on"])
@pytest.mark.parametrize(("envelope", "each"), [("plain", 0), ("usage in each", 64)])
def test_a_thought_and_arguments_take_little_more_than_their_words(shape: str, envelope: str, each: int) -> None:
    """A seal covers the whole thought, and arguments are compared with their repetition; neither is kept as events."""
    said = len(WORD) * EVENTS
    assert grows_less(shape, envelope, 4 * said + each * EVENTS + 50_000)
