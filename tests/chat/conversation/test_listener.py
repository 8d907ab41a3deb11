"""A client in this process, as the engine sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from clew.chat.blocking import Loop
from clew.chat.listener import EngineListener
from tests.waiting import forever

MUCH = b"x" * 300_000


def heard(listen: Callable[[EngineListener], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        return await listen(EngineListener())

    return asyncio.run(run())


def test_what_is_pushed_is_heard_in_order_and_then_nothing() -> None:
    async def listen(listener: EngineListener) -> list[bytes]:
        listener.start(200, ())
        with listener.in_one_piece():
            listener.push(b"a")
            listener.flow()(b"b")
        first = await listener.chunk()
        await listener.write(b"c")
        listener.end()
        return [first, await listener.chunk(), await listener.chunk()]

    assert heard(listen) == [b"ab", b"c", b""]


def test_a_listener_that_is_behind_says_so_and_is_waited_for() -> None:
    """Memory stays bounded however slowly a program listens."""

    async def listen(listener: EngineListener) -> list[Any]:
        listener.start(200, ())
        more = [listener.push(b"a"), listener.push(MUCH)]
        waiting = asyncio.create_task(listener.drained())
        await asyncio.sleep(0)
        done = [waiting.done(), len(await listener.chunk())]
        await asyncio.wait_for(waiting, 120)
        return [*more, *done, listener.push(b"b")]

    assert heard(listen) == [True, False, False, len(MUCH) + 1, True]


def test_a_refusal_is_heard_with_its_status() -> None:
    async def listen(listener: EngineListener) -> tuple[Any, ...]:
        listener.send(529, [("retry-after", "1")], b"no")
        return listener.status, await listener.chunk(), listener.ended

    assert heard(listen) == (529, b"no", True)


def test_what_is_handed_over_may_fail_and_is_then_over() -> None:
    async def fail() -> None:
        raise ValueError("broken")

    async def listen(listener: EngineListener) -> tuple[Any, ...]:
        listener.hand_over(fail())
        await listener.over()
        return str(listener.failure), await listener.chunk()

    assert heard(listen) == ("broken", b"")


def test_who_leaves_cancels_anyone_who_answers_once() -> None:
    class Held:
        cancelled = 0

        def cancel(self) -> None:
            self.cancelled += 1

    async def listen(listener: EngineListener) -> tuple[Any, ...]:
        holder = Held()
        listener.hold(holder)
        listener.leave()
        listener.leave()
        listener.release()
        await listener.over()
        listener.abort()
        return holder.cancelled, listener.ended, listener.asked

    assert heard(listen) == (1, True, "a conversation")


def test_the_loop_of_a_program_without_one_raises_what_was_raised_there() -> None:
    async def fail() -> None:
        raise LookupError("there")

    with Loop() as loop, pytest.raises(LookupError, match="there"):
        loop.call(fail())


def test_who_leaves_before_the_work_began_is_told_of_its_end() -> None:
    """A task that is cancelled before its first step runs none of its clauses."""
    seen: list[str] = []

    async def work() -> None:
        try:
            await forever()
        finally:
            seen.append("ended")

    async def listen(listener: EngineListener) -> list[str]:
        listener.hand_over(work())
        listener.leave()
        await asyncio.wait_for(listener.over(), 120)
        return seen

    assert heard(listen) == ["ended"]
