"""A stream where no connection rests: what goes wrong with a new one, and that nothing is left behind."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from unittest.mock import patch

import pytest

from clew.exchange.call import Call
from clew.http.client.connection import ClientConnection
from tests.engine.by_hand import ByHand, Seen, in_use
from tests.engine.questions import CHAT_STREAM, SNAPSHOTS, STREAM, chat_snapshot, question

Dials = Callable[[Callable[[], Awaitable[ClientConnection]]], Awaitable[ClientConnection]]
KINDS = pytest.mark.parametrize("kind", ["plain", "translated"])


async def refused(dial: Callable[[], Awaitable[ClientConnection]]) -> ClientConnection:
    raise ConnectionRefusedError("nobody listens")


async def never(dial: Callable[[], Awaitable[ClientConnection]]) -> ClientConnection:
    return await asyncio.get_running_loop().create_future()


async def asked(kind: str, dials: Dials | None, *, leaves: bool = False) -> Seen:
    """The last of three like questions, whose connection has to be dialled."""
    now, stream = (chat_snapshot(), CHAT_STREAM) if kind == "translated" else (SNAPSHOTS[0], STREAM)
    hand, call = ByHand(now), Call(body=b"")
    for number in range(2):
        await hand.asks(f"a{number}", call, question("hi", stream=True), [stream])
    pool: Any = hand.engine.services.pool
    for connections in pool._endpoints.values():
        connections.resting.clear()
    dial, first = pool._dial, True

    async def dialled(asking: Any) -> ClientConnection:
        nonlocal first
        usual, first = dials is None or not first, False
        return await (dial(asking) if usual or dials is None else dials(lambda: dial(asking)))

    with patch.object(pool, "_dial", dialled):
        asking = asyncio.create_task(hand.asks("b", call, question("again", stream=True), [stream]))
        if leaves:
            await _leave(hand)
        seen = await asking
    assert not in_use(pool)
    return seen


async def _leave(hand: ByHand) -> None:
    """The server tells the holder of the responder that its client is gone."""
    for _ in range(5):
        await asyncio.sleep(0)
    assert hand.client is not None
    holder = hand.client.responder.holder
    assert holder is not None
    holder.cancel()


@KINDS
@pytest.mark.parametrize(
    ("dials", "leaves", "outcome", "tried"),
    [(None, False, "whole", ["b"]), (refused, False, "whole", ["b", "spare"]), (never, True, "cut", [])],
    ids=["", "refused", "left"],
)
def test_a_stream_that_dials_is_told_once(
    kind: str, dials: Dials | None, leaves: bool, outcome: str, tried: list[str]
) -> None:
    """And no connection is left that nobody gives back."""
    (told,) = asyncio.run(asked(kind, dials, leaves=leaves)).told
    assert (told.outcome, [each.backend for each in told.tries]) == (outcome, tried)
