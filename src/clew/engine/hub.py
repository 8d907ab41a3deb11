"""The hub: what happens in this process, sent live to its subscribers.

Telling costs a look at an empty tuple while nobody listens, and never waits: each listener has a bounded queue of its own,
and one that does not keep up loses the oldest events, which are counted. So a browser tab that sleeps costs neither memory
nor anybody's time, and can see that it missed something. Everything happens on one event loop; nothing here is for threads.

One that only notes what it hears, and never fails, may be called instead (`attend`): to wake a task for every answer costs
more than most answers.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import NamedTuple, TypeAlias

from msgspec import Struct

from clew.model.json import JsonValue

WAITING = 256
"""Events that may wait for one listener."""

Value: TypeAlias = Struct | Mapping[str, JsonValue]


class HubEvent(NamedTuple):
    """Something that happened. Ids rise by one within a process, so that a gap is seen."""

    id: int
    kind: str
    value: Value


class Subscription:
    """One listener's events, oldest first. `dropped` counts those that it was too slow for."""

    def __init__(self, waiting: int = WAITING) -> None:
        self._events: deque[HubEvent] = deque(maxlen=waiting)
        self._arrived = asyncio.Event()
        self.dropped = 0

    def put(self, event: HubEvent) -> None:
        if len(self._events) == self._events.maxlen:
            self.dropped += 1
        self._events.append(event)
        self._arrived.set()

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> HubEvent:
        """The next event, waiting for it. Never ends by itself: leave the context, or cancel."""
        while not self._events:
            self._arrived.clear()
            await self._arrived.wait()
        return self._events.popleft()


class Hub:
    """Publish here, listen here."""

    def __init__(self) -> None:
        self._listeners: tuple[Subscription, ...] = ()
        self._attending: tuple[Callable[[str, Value], None], ...] = ()
        self._last = 0

    @property
    def listeners(self) -> int:
        return len(self._listeners)

    def publish(self, kind: str, value: Value) -> None:
        """Tell everybody who listens. Never waits and never fails."""
        for told in self._attending:
            told(kind, value)
        if not self._listeners:
            return
        self._last += 1
        event = HubEvent(self._last, kind, value)
        for listener in self._listeners:
            listener.put(event)

    @asynccontextmanager
    async def subscribe(self, waiting: int = WAITING) -> AsyncGenerator[Subscription]:
        """Listen from now on, until the context is left."""
        subscription = Subscription(waiting)
        self._listeners = (*self._listeners, subscription)
        try:
            yield subscription
        finally:
            self._listeners = tuple(each for each in self._listeners if each is not subscription)

    @contextmanager
    def attend(self, told: Callable[[str, Value], None]) -> Generator[None]:
        """Be called with each event from now on, at once, until the context is left."""
        self._attending = (*self._attending, told)
        try:
            yield
        finally:
            self._attending = tuple(each for each in self._attending if each is not told)
