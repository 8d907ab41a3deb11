"""A client that leaves, wherever its exchange stands, takes nothing along: in one piece and as a stream."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from clew.engine.snapshot import Snapshot
from clew.exchange.call import Call
from clew.settings.values import StoreSettings
from tests.engine.by_hand import ByHand, Seen, in_use
from tests.engine.kept_by_hand import KeptByHand
from tests.engine.questions import (
    CHAT_CHUNKS,
    CHAT_STREAM,
    EVENTS,
    SNAPSHOTS,
    STARTED,
    STREAM,
    WHOLE,
    chat_snapshot,
    chunk,
    question,
    snapshot,
    sse,
)


async def left(*, stream: bool, bodies: str) -> Seen:
    """The second question of its kind, whose client leaves while the store has its turn."""
    store = KeptByHand()
    hand, call = ByHand(snapshot(store=StoreSettings(bodies=bodies)), store), Call(body=b"")
    answer = [STREAM if stream else WHOLE]
    await hand.asks("a", call, question("one", stream=stream), answer)
    store.mood, hand.engine.services.commit_seconds = "slow", 0.05
    store.came.clear()
    asking = asyncio.create_task(hand.asks("b", call, question("two", stream=stream), answer))
    await store.came.wait()
    await asyncio.sleep(0)
    assert hand.client is not None
    assert hand.client.responder.holder is not None
    hand.client.responder.holder.cancel()
    seen = await asking
    await asyncio.sleep(0.1)  # as long as the end would have waited, and more
    return seen._replace(told=tuple(hand._told))


@pytest.mark.parametrize("bodies", ["off", "all"])
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.real_time
def test_a_turn_that_the_store_has_is_told_though_its_client_left_meanwhile(stream: bool, bodies: str) -> None:
    """Law 6: what is in the store is in the log too, once, and as what it is."""
    seen = asyncio.run(left(stream=stream, bodies=bodies))
    assert [turn.exchange for turn in seen.kept] == list(seen.told)
    assert [exchange.outcome for exchange in seen.told] == ["whole"]


async def gone(now: Snapshot, first: bytes, pieces: Sequence[bytes], *, stream: bool, draining: bool) -> Seen:
    """The second question of its kind, whose client leaves behind these pieces of its answer, or whose gateway ends then."""
    hand, call = ByHand(now), Call(body=b"")
    await hand.asks("a", call, question("one", stream=stream), [first])
    asking = asyncio.create_task(hand.asks("b", call, question("two", stream=stream), pieces))
    for _ in range(50):
        await asyncio.sleep(0)
    assert hand.client is not None
    responder = hand.client.responder
    responder.draining = draining
    if responder.holder is not None:
        responder.holder.cancel()
    seen = await asking
    assert not in_use(hand.engine.services.pool)
    return seen


@pytest.mark.parametrize("draining", [True, False])
@pytest.mark.parametrize(
    ("now", "first", "pieces"),
    [
        (SNAPSHOTS[0], STREAM, [STARTED, *(chunk(sse(event)) for event in EVENTS), b"0\r\n\r\n"]),
        (chat_snapshot(), CHAT_STREAM, [STARTED, *map(chunk, CHAT_CHUNKS), b"0\r\n\r\n"]),
        (SNAPSHOTS[0], WHOLE, [WHOLE[:30], WHOLE[30:200], WHOLE[200:]]),
    ],
    ids=["stream", "translated", "whole"],
)
def test_wherever_its_client_leaves_a_question_is_told_once(
    now: Snapshot, first: bytes, pieces: list[bytes], draining: bool
) -> None:
    """And no connection is left that nobody gives back."""
    for end in range(len(pieces) + 1):
        seen = asyncio.run(gone(now, first, pieces[:end], stream=first is not WHOLE, draining=draining))
        assert [exchange.outcome for exchange in seen.told] == ["whole" if end == len(pieces) else "cut"], end


class Slow(list[bytes]):
    """An answer to a client that takes nothing of it."""

    def __init__(self, pieces: Sequence[bytes], hand: ByHand) -> None:
        super().__init__(pieces)
        self._hand = hand

    def __iter__(self) -> Iterator[bytes]:
        assert self._hand.client is not None
        self._hand.client.pause_writing()
        return super().__iter__()


def test_a_client_that_catches_up_when_all_is_over_sets_nobody_elses_reads_going() -> None:
    """Its connection to the backend may be somebody else's by then, who has a slow client, too."""

    async def run() -> bool:
        hand, call = ByHand(SNAPSHOTS[0]), Call(body=b"")
        await hand.asks("a", call, question("one", stream=True), [STREAM])
        pool: Any = hand.engine.services.pool
        (connections,) = pool._endpoints.values()
        whole = b"".join(map(sse, EVENTS))
        pieces = [STARTED + chunk(whole[:600]), chunk(whole[600:]) + b"0\r\n\r\n"]
        await hand.asks("b", call, question("two", stream=True), Slow(pieces, hand))
        connection = connections.take(0.0)
        assert connection is not None
        connection.pause()
        assert hand.client is not None
        hand.client.resume_writing()
        for _ in range(20):
            await asyncio.sleep(0)
        return connection._paused

    assert asyncio.run(run())
