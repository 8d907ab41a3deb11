"""A client that leaves, wherever its exchange stands, takes nothing along: by rote and not, in one piece and as a stream."""

import asyncio

import pytest

from clew.engine.call import Call
from clew.settings.values import StoreSettings
from tests.engine.by_hand import ByHand, Seen
from tests.engine.kept_by_hand import KeptByHand
from tests.engine.test_rote import STREAM, WHOLE, question, snapshot


async def left(*, stream: bool, known: bool, bodies: str) -> Seen:
    """The second question of its kind, whose client leaves while the store has its turn."""
    store = KeptByHand()
    hand, call = ByHand(snapshot(store=StoreSettings(bodies=bodies)), store), Call(body=b"")
    answer = [STREAM if stream else WHOLE]
    await hand.asks("a", call, question("one", stream=stream), answer)
    if not known:
        call.forms.clear()
    store.mood, hand.engine.parts.commit_seconds = "slow", 0.05
    store.came.clear()
    asking = asyncio.create_task(hand.asks("b", call, question("two", stream=stream), answer))
    await store.came.wait()
    await asyncio.sleep(0)
    assert hand.client is not None
    assert hand.client.responder.holder is not None
    hand.client.responder.holder.cancel()
    seen = await asking
    await asyncio.sleep(0.1)  # as long as the end would have waited, and more
    hand.engine.parts.telling.tell_all()
    return seen._replace(told=tuple(hand._told))


@pytest.mark.parametrize("bodies", ["off", "all"])
@pytest.mark.parametrize(("stream", "known"), [(True, False), (False, True), (False, False)])
def test_a_turn_that_the_store_has_is_told_though_its_client_left_meanwhile(stream: bool, known: bool, bodies: str) -> None:
    """Law 6: what is in the store is in the log too, once, and as what it is."""
    seen = asyncio.run(left(stream=stream, known=known, bodies=bodies))
    assert [turn.exchange for turn in seen.kept] == list(seen.told)
    assert [exchange.outcome for exchange in seen.told] == ["whole"]
