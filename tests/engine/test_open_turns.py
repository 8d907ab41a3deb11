"""Open turns: what of a stream is kept while it comes, and what may replace what."""

import asyncio
from concurrent.futures import Future
from types import SimpleNamespace
from typing import cast

from clew.engine.open_turns import OpenTurns
from clew.engine.services import EngineServices
from clew.exchange.machine import ExchangeMachine
from clew.exchange.moments import MOST_MOMENTS
from clew.exchange.streamed import StreamedAnswer
from clew.exchange.turns import ReceivedAnswer
from clew.pipeline.stream.answer import AnswerSoFar

HEARD = ReceivedAnswer(answer=AnswerSoFar())


class Stream:
    """An answer of which so many blocks are whole."""

    def __init__(self, stops: int) -> None:
        self.stops = stops

    def heard(self, *, whole: bool) -> ReceivedAnswer:
        return HEARD


class Machine:
    """Its turns are numbers: of those that were asked for."""

    def __init__(self) -> None:
        self.turns = 0

    def open_turn(self, heard: ReceivedAnswer, wall: float) -> int:
        self.turns += 1
        return self.turns


class Kept:
    """A store that is asked to keep a seal's block in the very moment in which it takes what may linger."""

    def __init__(self) -> None:
        self.lingers: Future[bool] = Future()
        self.kept: list[int] = []
        self.turns: OpenTurns
        self.store = self
        self.commit_seconds = 0.01

    def wall(self) -> float:
        return 0.0

    def record(self, turn: int) -> Future[bool]:
        self.kept.append(turn)
        return Future()

    def record_open(self, turn: int) -> Future[bool]:
        self.turns.secure(cast("StreamedAnswer", Stream(1)), lambda: None)
        return self.lingers


def test_what_is_put_together_in_a_thread_does_not_replace_what_a_seal_refers_to_meanwhile() -> None:
    """Law 8: it has less, and would be written after it."""

    async def scene() -> tuple[list[int], bool]:
        kept = Kept()
        kept.turns = turns = OpenTurns(cast("EngineServices", kept), cast("ExchangeMachine", Machine()))
        turns._flushed = 0
        turns._keep(lambda: HEARD, 0)
        return kept.kept, kept.lingers.cancelled()

    assert asyncio.run(scene()) == ([2], True)


def test_the_moments_of_an_answer_that_lasts_for_hours_are_few_and_of_all_of_it() -> None:
    """They are kept for the timeline of an exchange, and there may be thousands of streams."""
    notes = SimpleNamespace(moments=None, began=0.0, received=SimpleNamespace(options=SimpleNamespace(keeps_bodies=True)))
    services, stream = SimpleNamespace(clock=lambda: float(stream.size)), SimpleNamespace(size=0, stops=-1)

    async def scene() -> None:
        turns = OpenTurns(cast("EngineServices", services), cast("ExchangeMachine", SimpleNamespace(notes=notes)))
        turns._stream = cast("StreamedAnswer", stream)
        for size in range(10_000):
            stream.size = size
            turns.look()
            turns.stop()

    asyncio.run(scene())

    assert notes.moments is not None
    times = notes.moments.all()
    assert MOST_MOMENTS // 2 < len(times) <= MOST_MOMENTS
    assert times == tuple(sorted(times))
    assert (times[0], times[-1]) == ((0, 0.0), (9_999, 9_999.0))
