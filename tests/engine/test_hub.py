"""Live events: nobody waits for a listener, and a listener sees what it missed."""

import asyncio

from clew.engine.hub import Hub, HubEvent


def test_a_listener_gets_what_happens_while_it_listens_in_order() -> None:
    """Design §6: /api/events."""

    async def scene() -> list[HubEvent]:
        hub = Hub()
        hub.publish("exchange", {"id": "before"})
        async with hub.subscribe() as events:
            hub.publish("exchange", {"id": "a"})
            hub.publish("switch", {"new": "b"})
            got = [await anext(events), await anext(events)]
        hub.publish("exchange", {"id": "after"})
        return got

    assert asyncio.run(scene()) == [HubEvent(1, "exchange", {"id": "a"}), HubEvent(2, "switch", {"new": "b"})]


def test_a_listener_that_waits_is_woken() -> None:
    async def scene() -> HubEvent:
        hub = Hub()
        async with hub.subscribe() as events:
            waiting = asyncio.ensure_future(anext(events))
            await asyncio.sleep(0)
            hub.publish("exchange", {})
            return await asyncio.wait_for(waiting, 120)

    assert asyncio.run(scene()) == HubEvent(1, "exchange", {})


def test_a_slow_listener_loses_the_oldest_and_the_loss_is_counted() -> None:
    """reliability 3.7: everything is bounded."""

    async def scene() -> tuple[list[int], int, list[int]]:
        hub = Hub()
        async with hub.subscribe(2) as slow, hub.subscribe() as quick:
            for _ in range(5):
                hub.publish("exchange", {})
            seen = [(await anext(slow)).id for _ in range(2)]
            return seen, slow.dropped, [(await anext(quick)).id for _ in range(5)]

    assert asyncio.run(scene()) == ([4, 5], 3, [1, 2, 3, 4, 5])


def test_a_listener_that_left_holds_nothing() -> None:
    async def scene() -> tuple[int, int]:
        hub = Hub()
        async with hub.subscribe():
            inside = hub.listeners
        return inside, hub.listeners

    assert asyncio.run(scene()) == (1, 0)
