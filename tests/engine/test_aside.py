"""What takes a while, in threads: in which order, and for whom no longer."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from clew.engine.aside import LARGE, VERY_LARGE, aside
from clew.engine.histories import Histories
from clew.exchange import machine
from clew.exchange.call import Call
from clew.http.message import request_of
from clew.model.origin import Target
from clew.model.request import NotWanted, Request, Wanted
from clew.pipeline.project import Projection, project
from clew.pipeline.step import Facts
from tests.build import raw, user
from tests.engine.by_hand import ByHand, Client
from tests.engine.questions import snapshot

A_MINUTE = 60  # after which something hangs


class Held:
    """Work that lasts until it is let go."""

    def __init__(self) -> None:
        self.began, self.may_end = threading.Event(), threading.Event()

    def __call__(self) -> None:
        self.began.set()
        assert self.may_end.wait(A_MINUTE)


def test_of_what_is_very_large_one_is_worked_on_at_a_time_and_smaller_ones_pass_by() -> None:
    async def scene() -> tuple[list[str], list[str]]:
        held, done = Held(), list[str]()

        def noted(name: str) -> Callable[[], None]:
            return lambda: done.append(name)

        first = asyncio.create_task(aside(VERY_LARGE + 1, held))
        await asyncio.to_thread(held.began.wait, A_MINUTE)
        waiting = [asyncio.create_task(aside(VERY_LARGE + 1, noted(name))) for name in ("second", "left", "third")]
        await asyncio.sleep(0)
        await aside(VERY_LARGE, noted("large"))
        await aside(LARGE, noted("small"))
        before = list(done)
        waiting[1].cancel()
        await asyncio.gather(waiting[1], return_exceptions=True)
        held.may_end.set()
        await asyncio.gather(first, waiting[0], waiting[2])
        return before, done

    before, done = asyncio.run(scene())
    assert before == ["large", "small"]
    assert done == ["large", "small", "second", "third"]


def test_what_takes_long_stops_once_its_client_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its client leaves while it is read: the reading stops, and the projection, which would come next, does not begin."""
    reading, over, ended = Held(), threading.Event(), list[object]()
    read = Histories.read

    def read_slowly(histories: Histories, call: Call, wanted: Wanted) -> Request:
        reading()
        try:
            return read(histories, call, wanted)
        except NotWanted as error:
            ended.append(type(error))
            raise
        finally:
            over.set()

    def project_watched(request: Request, target: Target, facts: Facts, **more: Any) -> Projection:
        ended.append(projected := project(request, target, facts, **more))
        return projected

    async def scene() -> None:
        hand, body = ByHand(snapshot()), raw(user("a" * VERY_LARGE), user(""))
        client = Client(request_of(method="POST", target="/v1/messages", headers=(), body=body))
        work = hand.engine.answer(Call(body=body), client.responder)
        assert work is not None
        asking = asyncio.ensure_future(work)
        await asyncio.to_thread(reading.began.wait, A_MINUTE)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        reading.may_end.set()
        await asyncio.to_thread(over.wait, A_MINUTE)

    monkeypatch.setattr(Histories, "read", read_slowly)
    monkeypatch.setattr(machine, "project", project_watched)
    asyncio.run(scene())
    assert ended == [NotWanted]
