"""A client is never left without a word, however long a backend thinks in secret. The hours pass on a clock of their own."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from itertools import pairwise
from typing import Any

import pytest

from clew.engine.client_stream import ClientStream
from clew.settings.values import GatewaySettings
from clew.wire.sse import PING
from tests.golden.cases import Scene, scenes
from tests.golden.driving import relay_of
from tests.manifest import proves


class Skipping(selectors.DefaultSelector):
    """Where everybody waits, the time has passed at once."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        self.now += 0 if ready or timeout is None else timeout
        return ready


class Client:
    """Notes when it heard something."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.started = False
        self.heard: list[float] = []
        self._clock = clock

    def start(self, status: int, headers: object) -> None:
        self.started = True

    def headers(self) -> list[tuple[str, str]]:
        return []

    early_headers = headers

    def push(self, data: bytes) -> bool:
        self.heard.append(self._clock())
        return True

    def keep_alive(self) -> bytes:
        return PING

    def flow(self) -> Callable[[bytes], bool]:
        return self.push


class Source:
    heard_at = shown_at = 0.0


async def listened(scene: Scene, client: Any) -> None:
    """A backend that says what the scene says, as often and as long as it says it."""
    told, loop = scene.table("silence"), asyncio.get_running_loop()
    source: Any = Source()
    relay, stream = relay_of(scene), ClientStream(client, client, GatewaySettings().ping_seconds)
    stream.watch_silence()
    push = stream.flow(source, hides=True)
    for _ in range(0, told["lasts"], told["every"]):
        if told["says"]:
            source.heard_at = loop.time()
        if new := relay.feed(told["says"].encode()):
            push(new)
        await asyncio.sleep(told["every"])
    stream.close()


@pytest.mark.parametrize(
    "scene", [pytest.param(scene, id=scene.id, marks=proves(f"case:{case.number}")) for case, scene in scenes("silence")]
)
@proves("req:S3-14")
def test_the_client_hears_something_all_the_while(scene: Scene) -> None:
    """S3-14, case 65c: pings, with no gap that is longer than the golden allows."""
    heard, told = _heard(lambda client: listened(scene, client)), scene.table("silence")

    gaps = [after - before for before, after in pairwise([0.0, *heard, float(told["lasts"])])]
    assert max(gaps) <= told["longest"] + 0.01


def test_what_went_on_at_once_counts_as_heard() -> None:
    """An event that is a read of its own is not pushed; as long as such come there is no ping, and one a second later."""

    async def shown(client: Any) -> None:
        source: Any = Source()
        stream, loop = ClientStream(client, client, GatewaySettings().ping_seconds), asyncio.get_running_loop()
        stream.watch_silence()
        stream.flow(source, hides=True)
        for number in range(80):
            source.heard_at = loop.time()
            source.shown_at = source.shown_at if number > 40 else loop.time()
            await asyncio.sleep(0.5)
        stream.close()

    heard = _heard(shown)
    assert (20.0 < heard[0] <= 22.1, max(after - before for before, after in pairwise(heard)) <= 1.51) == (True, True)


def _heard(listen: Callable[[Any], Coroutine[Any, Any, None]]) -> list[float]:
    """When a client heard something."""
    selector = Skipping()
    loop = asyncio.SelectorEventLoop(selector)
    loop.time = lambda: selector.now
    client = Client(loop.time)
    try:
        loop.run_until_complete(listen(client))
    finally:
        loop.close()
    return client.heard
