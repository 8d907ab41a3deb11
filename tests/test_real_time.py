"""Who sleeps in real time is noticed; who waits for an event, or moves a clock, is not."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

from clew.testing.simulator import Background
from tests.clock import Clock
from tests.real_time import noticing
from tests.waiting import turns, until, until_so


def test_a_sleep_is_noticed_with_its_place() -> None:
    async def sleep() -> None:
        await asyncio.sleep(0.0001)

    with noticing() as slept:
        time.sleep(0.0001)
        asyncio.run(sleep())
    assert [place.partition(":")[0] for place in slept] == ["test_real_time.py"] * 2
    assert all(place.endswith(" sleeps for 0.0001 s") for place in slept)


def test_waiting_for_an_event_is_no_sleep() -> None:
    looks = iter([False, True, False, True])

    async def wait() -> None:
        await until_so(lambda: next(looks))
        await turns()

    with noticing() as slept:
        until(lambda: next(looks))
        asyncio.run(wait())
    assert slept == []


def test_a_clock_that_is_moved_is_no_sleep(clock: Clock) -> None:
    async def sleep() -> str:
        await asyncio.sleep(60)
        return "over"

    with noticing() as slept, Background() as loop, ThreadPoolExecutor() as pool:
        sleeping = pool.submit(loop.call, sleep())
        until(sleeping.running)
        while not sleeping.done():
            clock.pass_time(60)
    assert (sleeping.result(), slept) == ("over", [])
