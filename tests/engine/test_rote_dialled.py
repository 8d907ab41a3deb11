"""A stream by rote where no connection rests: on a new one it goes as it would have, and so does what goes wrong with that."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from unittest.mock import patch

import pytest

from clew.engine import engine as engines
from clew.engine.call import Call
from clew.engine.rote.by_rote import by_rote
from clew.http.client.connection import ClientConnection
from tests.engine.by_hand import ByHand, Seen, in_use
from tests.engine.test_rote import SNAPSHOTS, STREAM, question
from tests.engine.test_rote_translated import SNAPSHOTS as TRANSLATED
from tests.engine.test_rote_translated import STREAM as OTHER_STREAM

Dials = Callable[[Callable[[], Awaitable[ClientConnection]]], Awaitable[ClientConnection]]
KINDS = pytest.mark.parametrize("kind", ["plain", "translated"])


async def refused(dial: Callable[[], Awaitable[ClientConnection]]) -> ClientConnection:
    raise ConnectionRefusedError("nobody listens")


async def never(dial: Callable[[], Awaitable[ClientConnection]]) -> ClientConnection:
    return await asyncio.get_running_loop().create_future()


async def asked(kind: str, dials: Dials | None, *, known: bool, leaves: bool = False) -> tuple[Seen, bool]:
    """The last of three like questions, whose connection has to be dialled, and whether it went by rote. `known`: the engine
    may remember the others."""
    now, stream = (TRANSLATED[0], OTHER_STREAM) if kind == "translated" else (SNAPSHOTS[0], STREAM)
    hand, call, ways = ByHand(now), Call(body=b""), []
    for number in range(2):
        await hand.asks(f"a{number}", call, question("hi", stream=True), [stream])
    if not known:
        call.forms.clear()
    pool: Any = hand.engine.parts.pool
    for stock in pool._stocks.values():
        stock.resting.clear()
    dial, first = pool._dial, True

    async def dialled(asking: Any) -> ClientConnection:
        nonlocal first
        usual, first = dials is None or not first, False
        return await (dial(asking) if usual or dials is None else dials(lambda: dial(asking)))

    def noted(*given: Any) -> Any:
        ways.append(by_rote(*given))
        return ways[-1]

    with patch.object(engines, "by_rote", noted), patch.object(pool, "_dial", dialled):
        asking = asyncio.create_task(hand.asks("b", call, question("again", stream=True), [stream]))
        if leaves:
            await _leave(asking)
        seen = await asking
    assert not in_use(pool)
    return seen, ways[-1] is not False


async def _leave(asking: asyncio.Task[Seen]) -> None:
    """The server cancels the task of a client that is gone."""
    for _ in range(5):
        await asyncio.sleep(0)
    (work,) = asyncio.all_tasks() - {asking, asyncio.current_task()}
    work.cancel()


@KINDS
@pytest.mark.parametrize(("dials", "leaves"), [(None, False), (refused, False), (never, True)], ids=["", "refused", "left"])
def test_a_stream_that_dials_ends_as_it_would_have(kind: str, dials: Dials | None, leaves: bool) -> None:
    """The same bytes, the same records, and no connection that nobody gives back."""
    (by_rote_seen, went), (seen, other) = (
        asyncio.run(asked(kind, dials, known=known, leaves=leaves)) for known in (True, False)
    )
    assert (went, other) == (True, False)
    assert by_rote_seen == seen
    assert len(seen.told) == 1
