"""Whatever an answer turns out to be, its exchange ends once: one record, one answer to the client, no connection lost."""

import asyncio
import json
import re
from collections.abc import Sequence
from unittest.mock import Mock, patch

import pytest

from clew.engine.driver import Driver
from clew.engine.snapshot import Snapshot
from clew.exchange.call import Call
from clew.http.client.connection import ClientConnection
from tests.engine.by_hand import ByHand, Plug, Seen, in_use, resting
from tests.engine.kept_by_hand import KeptByHand, Mood
from tests.engine.questions import (
    BROKEN,
    CHAT_CHUNKS,
    CHAT_STREAM,
    ENDED,
    MESSAGE,
    SNAPSHOTS,
    STARTED,
    STREAM,
    WHOLE,
    chat_snapshot,
    chunk,
    framed,
    question,
)

STOPPED = re.compile(rb'"stop_reason": ?"')


async def second(
    now: Snapshot, first: bytes, odd: Sequence[bytes], *, stream: bool, gone: bool, mood: Mood | None = None
) -> Seen:
    """The second question on a connection, which is answered so; anyone who is asked next answers as the first was."""
    hand, call = ByHand(now, KeptByHand(mood) if mood else None), Call(body=b"")
    await hand.asks("a", call, question("one", stream=stream), [first])
    seen = await hand.asks("b", call, question("two", stream=stream), odd, ends=gone, then=[first])
    assert not in_use(hand.engine.services.pool)
    return seen


def ends_once(seen: Seen, odd: object) -> None:
    assert [exchange.id for exchange in seen.told] == ["b"], odd
    outcome = seen.told[0].outcome
    assert outcome in ("whole", "cut", "refused", "failed"), odd
    assert seen.got, odd
    assert bool(STOPPED.search(seen.got)) == (outcome == "whole"), odd


@pytest.mark.parametrize("mood", [None, "willing", "unwilling"])
@pytest.mark.parametrize("gone", [True, False])
@pytest.mark.parametrize("stream", [True, False])
def test_whatever_an_answer_turns_out_to_be_it_is_told_once(gone: bool, stream: bool, mood: Mood | None) -> None:
    """A break, a refusal, another backend. Law 8: what is kept is what is told."""
    for odd in [*ENDED, *BROKEN] if gone else ENDED:
        seen = asyncio.run(second(SNAPSHOTS[0], STREAM if stream else WHOLE, odd, stream=stream, gone=gone, mood=mood))
        ends_once(seen, odd)
        assert mood is None or seen.kept[-1].exchange.outcome == seen.told[0].outcome


@pytest.mark.parametrize("gone", [True, False])
def test_wherever_a_translated_answer_breaks_off_it_is_told_once(gone: bool) -> None:
    for end in range(len(CHAT_CHUNKS) + 1):
        pieces = [STARTED, *map(chunk, CHAT_CHUNKS[:end]), *([] if gone else [b"0\r\n\r\n"])]
        ends_once(asyncio.run(second(chat_snapshot(), CHAT_STREAM, pieces, stream=True, gone=gone)), end)


@pytest.mark.parametrize("mood", [None, "willing", "slow", "unwilling"])
@pytest.mark.parametrize("chunked", [True, False])
def test_an_answer_that_is_the_last_on_its_connection_is_asked_for_once(mood: Mood | None, chunked: bool) -> None:
    """The end of a connection that cannot be used again is no news to anyone who has its answer."""
    last = framed(json.dumps(MESSAGE).encode(), "connection: close", chunked=chunked)
    for pieces in ([last], [last[:50], last[50:]], [last[:-3], last[-3:]]):
        for gone in (True, False):
            seen = asyncio.run(second(SNAPSHOTS[0], WHOLE, pieces, stream=False, gone=gone, mood=mood))
            assert (len(seen.sent), [each.outcome for each in seen.told]) == (1, ["whole"]), (pieces, gone)


def test_who_has_let_its_connection_go_does_not_touch_it_again() -> None:
    """It may be somebody else's by then, while a turn waits for the store and its client leaves."""

    async def run() -> bool:
        hand, connection, news = ByHand(SNAPSHOTS[0]), ClientConnection(), Mock()
        call = Driver(hand.engine.services, Call(body=b""), Mock())
        call._on, call._asked = connection, Mock()
        call.end_call()
        connection.listener = news
        call.end_call()  # once more, as `cancel` does
        return connection.listener is news

    assert asyncio.run(run())


def test_the_end_of_a_stream_that_was_kept_goes_out_in_one_write() -> None:
    """A write of its own for five bytes would wake the client once more."""

    async def run() -> list[bytes]:
        hand, call, writes, write = ByHand(SNAPSHOTS[0], KeptByHand()), Call(body=b""), list[bytes](), Plug.write
        await hand.asks("a", call, question("one", stream=True), [STREAM])
        with patch.object(Plug, "write", lambda plug, data: (writes.append(data), write(plug, data))):
            await hand.asks("b", call, question("two", stream=True), [STREAM])
        return [data for data in writes if data.endswith(b"0\r\n\r\n")]

    [end] = asyncio.run(run())
    assert b"message_stop" in end


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves_while_its_turn_is_kept_takes_nothing_along(stream: bool) -> None:
    """Law 8 does not depend on who waits: the turn is kept, told once, and its connection serves the next."""
    answer = [STREAM if stream else WHOLE]

    async def run() -> tuple[int, int, int]:
        store = KeptByHand()
        hand, call = ByHand(SNAPSHOTS[0], store), Call(body=b"")
        await hand.asks("a", call, question("one", stream=stream), answer)
        store.mood, hand.engine.services.commit_seconds = "slow", 0.2
        store.came.clear()
        asking = asyncio.create_task(hand.asks("b", call, question("two", stream=stream), answer))
        await store.came.wait()
        assert hand.client is not None
        assert hand.client.responder.holder is not None
        assert b"end_turn" not in hand.client.plug.written, "the turn is kept first"
        hand.client.responder.holder.cancel()
        seen = await asking
        return len(seen.told), len(seen.kept), resting(hand)

    assert asyncio.run(run()) == (1, 1, 1)
