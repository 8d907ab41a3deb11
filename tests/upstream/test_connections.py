"""Slots: never more than so many at once, first come, first served, and none is lost with one who leaves."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.upstream.connections import ConnectionSlots
from tests.counts import examples


def free(slots: ConnectionSlots) -> int:
    """How many can be had at once; they are given back."""
    taken = 0
    while slots.take_at_once():
        taken += 1
    for _ in range(taken):
        slots.give_back()
    return taken


def test_who_waits_longest_is_served_first() -> None:
    """Nobody who comes later overtakes, even in the moment in which a slot comes back."""

    async def story() -> list[int]:
        slots, served = ConnectionSlots(1), list[int]()
        assert slots.take_at_once()
        tasks = [asyncio.create_task(_served(slots, served, number)) for number in range(3)]
        await asyncio.sleep(0)
        for _ in tasks:
            slots.give_back()
            assert not slots.take_at_once()
        await asyncio.gather(*tasks)
        return served

    assert asyncio.run(story()) == [0, 1, 2]


async def _served(slots: ConnectionSlots, served: list[int], number: int) -> None:
    await slots.take()
    served.append(number)


@pytest.mark.parametrize("given_first", [True, False])
def test_a_slot_is_not_lost_with_anyone_who_leaves(given_first: bool) -> None:
    """One that waits is cancelled, before a slot comes or in the very moment in which it does."""

    async def story() -> int:
        slots = ConnectionSlots(1)
        assert slots.take_at_once()
        task = asyncio.create_task(slots.take())
        await asyncio.sleep(0)
        steps = [slots.give_back, task.cancel]
        for step in steps if given_first else reversed(steps):
            step()
        with pytest.raises(asyncio.CancelledError):
            await task
        return free(slots)

    assert asyncio.run(story()) == 1


@settings(max_examples=examples(30, soak=1000), deadline=None)
@given(st.integers(1, 3), st.lists(st.sampled_from(["come", "leave", "cancel"]), max_size=30))
def test_as_many_are_free_as_are_not_held(count: int, steps: list[str]) -> None:
    """After any story: every slot is held by one, or free."""

    async def story() -> tuple[int, int]:
        slots, waiting, held = ConnectionSlots(count), list[asyncio.Task[None]](), 0
        for step in steps:
            if step == "come":
                waiting.append(asyncio.create_task(slots.take()))
            elif step == "leave" and held:
                held -= 1
                slots.give_back()
            elif step == "cancel" and waiting:
                waiting[-1].cancel()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            held += sum(task.done() and not task.cancelled() for task in waiting)
            waiting = [task for task in waiting if not task.done()]
            assert held <= count
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        return free(slots), count - held

    left, expected = asyncio.run(story())
    assert left == expected
