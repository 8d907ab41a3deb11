"""The driver of an exchange: what it leaves behind, and a client that goes while its request is read."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from contextvars import Context

import pytest

from clew.engine import aside as aside_module
from clew.engine.aside import VERY_LARGE, aside
from clew.engine.driver import Driver
from clew.engine.preparing import Preparation
from clew.errors import RequestInvalid
from clew.exchange.call import Call
from clew.http.message import request_of
from tests.engine.by_hand import ByHand, Client
from tests.engine.kept_by_hand import KeptByHand
from tests.engine.questions import SNAPSHOTS, STREAM, question, snapshot


def test_a_client_that_leaves_while_its_request_is_looked_up_is_kept_as_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small request was always read at once; now its look-up may be in a thread."""

    async def run() -> list[str]:
        hand, looked_up, told = ByHand(SNAPSHOTS[0], KeptByHand()), asyncio.Event(), list[str]()

        async def looking_up(size: int, work: Callable[[], None]) -> None:
            await looked_up.wait()
            work()

        monkeypatch.setattr(aside_module, "looking_up", looking_up)
        monkeypatch.setattr(Preparation, "begins_at_once", lambda self: False)
        hand.engine.services.finished = lambda exchange, recording: told.append(exchange.outcome)
        client = Client(request_of(method="POST", target="/v1/messages", headers=(), body=b""))
        work = hand.engine.answer(Call(body=question("hi", stream=True)), client.responder)
        assert work is not None
        task = asyncio.ensure_future(work)
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.sleep(0)
        looked_up.set()
        await asyncio.wait([task])
        return told

    assert asyncio.run(run()) == ["cut"]


def test_a_time_limit_whose_timer_runs_early_is_a_time_limit() -> None:
    """uvloop's timers know milliseconds only: a look at the clock said that there was time left, and nothing woke it again."""

    async def run() -> list[tuple[int, str]]:
        loop = asyncio.get_running_loop()
        call_at = loop.call_at

        def call_early(
            when: float, callback: Callable[..., object], *args: object, context: Context | None = None
        ) -> object:
            is_far = when > loop.time() + 10
            return call_at(when if is_far else loop.time(), callback, *args, context=context)

        loop.call_at = call_early  # type: ignore[method-assign, assignment]
        hand = ByHand(snapshot(first_content_seconds=1))
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        seen = await hand.asks("a1", Call(body=b""), question("hi", stream=True), [head], then=[STREAM])
        return [(each.status, each.why) for each in seen.told[0].tries]

    assert asyncio.run(run()) == [(0, "b: no content within 1 s"), (200, "")]


@pytest.mark.parametrize("slowly", [False, True], ids=["at once", "slowly"])
def test_nothing_is_left_of_an_exchange_that_is_over(slowly: bool) -> None:
    """No timer and no cycle holds it: it has the request and the answer, and the garbage collector may come late."""

    async def left() -> int:
        gc.collect()
        hand, before = ByHand(SNAPSHOTS[0], KeptByHand()), _drivers()
        hand.slowly = slowly
        for number in range(3):
            await hand.asks(f"a{number}", Call(body=b""), question("hi", stream=True), [STREAM])
        hand.client = None
        return _drivers() - before

    gc.disable()
    try:
        assert asyncio.run(left()) == 0
    finally:
        gc.enable()


@pytest.mark.parametrize("leaves", [False, True], ids=["refused", "abandoned"])
def test_nothing_is_left_of_a_large_request_that_is_not_answered(leaves: bool) -> None:
    """No cycle holds its body: neither a failed task nor the driver."""

    async def left() -> int:
        gc.collect()
        hand, before = ByHand(SNAPSHOTS[0], KeptByHand()), _drivers()
        body = b'{"messages":[' + b" " * VERY_LARGE + (b"" if leaves else b"x") + b"]}"
        client = Client(request_of(method="POST", target="/v1/messages", headers=(), body=b""))
        work = hand.engine.answer(Call(body=body), client.responder)
        assert work is not None
        task = asyncio.ensure_future(work)
        await asyncio.sleep(0)
        if leaves:
            task.cancel()
        await asyncio.wait([task])
        assert task.cancelled() or isinstance(task.exception(), RequestInvalid)
        del task, work
        await aside(VERY_LARGE + 1, lambda: None)  # behind the thread's work on it
        return _drivers() - before

    gc.disable()
    try:
        assert asyncio.run(left()) == 0
    finally:
        gc.enable()


def _drivers() -> int:
    return sum(1 for each in gc.get_objects() if isinstance(each, Driver))
