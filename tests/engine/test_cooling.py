"""A backend that is left alone for a while: what that means for those who asked it before, and when it is forgotten."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any
from unittest.mock import Mock

from clew.engine.route import RouteQuery, routes_of
from clew.engine.services import EngineServices
from clew.exchange.call import Call
from clew.pipeline.attempts import CoolDowns
from clew.upstream.pool import Pool
from tests.engine.by_hand import ByHand, Seen
from tests.engine.questions import MESSAGE, OPUS, SNAPSHOTS, WHOLE, framed, question

LIMITED = framed(b"{}", status="429 Too Many Requests")


class Meanwhile(list[bytes]):
    """An answer that comes when something else has happened."""

    def __init__(self, pieces: list[bytes], happens: Any) -> None:
        super().__init__(pieces)
        self._happens = happens

    def __iter__(self) -> Iterator[bytes]:
        self._happens()
        return super().__iter__()


def test_who_is_refused_where_others_were_refused_meanwhile_goes_to_the_next_backend() -> None:
    """Many ask when a limit is reached: each refusal is its own backend's, and the spare one is asked by all of them."""

    async def run() -> Seen:
        hand, call = ByHand(SNAPSHOTS[0]), Call(body=b"")
        await hand.asks("a", call, question("one"), [WHOLE])
        first = routes_of(SNAPSHOTS[0].settings, "b", RouteQuery(model=OPUS), ())[0].candidate

        def cooled() -> None:
            hand.engine.services.cool_downs = CoolDowns({(first.backend, first.key): 99.0})

        return await hand.asks("b", call, question("two"), Meanwhile([LIMITED], cooled), then=[WHOLE])

    seen = asyncio.run(run())
    assert seen.got.endswith(json.dumps(MESSAGE).encode())
    assert [(tried.backend, tried.status) for tried in seen.told[0].tries] == [("b", 429), ("spare", 200)]


def test_a_cool_down_that_is_over_is_forgotten_with_the_next_answer() -> None:
    """Else every request would go the long way until the end of the process."""

    async def run() -> list[int]:
        parts = EngineServices(pool=Pool(), snapshot=Mock())
        parts.learn(CoolDowns({("b", "k"): 10.0, ("c", "k"): 20.0}), 5.0)
        left = [len(parts.cool_downs.until)]
        for now in (9.0, 11.0, 21.0):
            parts.learn(CoolDowns(), now)
            left.append(len(parts.cool_downs.until))
        return left

    assert asyncio.run(run()) == [2, 2, 1, 0]
