"""The feed: what happens in this process and in every other that shares the store, as one stream of events.

The engine's hub reports at once what this process does. Worker processes have hubs of their own, out of reach
here; but the exchanges that they finish are in the store. So whenever a poll found that the store was written to, the feed
asks it for the exchanges after the last one known. An exchange that comes from both sources is published once; one that
takes its time is published twice, as `open` while it lasts and again when it is over. The place of an open exchange in the
store changes with its end, so the feed never continues from an open one.

A store that gateways share has the exchanges of all of them. There the feed reads it only while somebody watches: a hundred
gateways that read what the others do would cost more than the turns, and each counts its own.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, Literal

from clew.engine.hub import Hub, Subscription, Value
from clew.errors import SettingsInvalid, StoreError
from clew.limits.keys import LOCAL
from clew.model.turn import Exchange
from clew.settings.home import Home
from clew.settings.named_keys import known_keys
from clew.store import Store

if TYPE_CHECKING:
    from clew.admin.services import CurrentSettings


EXCHANGE: Final = "exchange"
"""An exchange is over, or `open`: under way for a while; its value is the `Exchange`."""

SWITCH: Final = "switch"
"""Another backend is active."""

AGAIN_SECONDS: Final = 0.5
"""After a store that could not be read."""

PAGE: Final = 500
REMEMBERED: Final = 2000

_log = logging.getLogger("clew.admin")


class Feed:
    """Begin, then run it as a task; `watch` it; `finished` is called with each exchange that is over, once."""

    def __init__(
        self,
        source: Hub,
        store: Store | None,
        principals: Callable[[], Iterable[str]],
        current: CurrentSettings,
        *,
        has_workers: bool = False,
        finished: Callable[[Exchange], None] = lambda exchange: None,
    ) -> None:
        """`has_workers`: exchanges of this gateway happen in other processes, too."""
        self.hub = Hub()
        self._source = source
        self._store = store
        self._principals = principals
        self._current = current
        self._changed = asyncio.Event()
        self._finished = finished
        self._reads_always = store is not None and (store.place == "local" or has_workers)
        self._is_behind = False
        """The store was not read for a while."""
        self._catching_up = asyncio.Lock()
        self._generation = -1
        """Of the store, when it was read last."""
        self._positions: dict[str, str] = {}
        """Up to where the exchanges of each principal are published."""
        self._known: OrderedDict[str, Literal["open", "over"]] = OrderedDict()

    async def begin(self) -> None:
        """What is in the store by now is not published; everything that comes after is."""
        if self._store is not None:
            await self._skip(self._store)

    @asynccontextmanager
    async def watch(self) -> AsyncGenerator[Subscription]:
        """Listen to all that happens from now on, until the context is left."""
        async with self.hub.subscribe() as events:
            async with self._catching_up:
                if self._is_behind and self._store is not None:
                    await self._skip(self._store)
            yield events

    async def _skip(self, store: Store) -> None:
        """Publish nothing of what is in the store by now."""

        def skip_old() -> None:
            self._generation = store.data_version()
            for principal in self._principals():
                self._positions[principal] = store.position(principal)

        try:
            await asyncio.to_thread(skip_old)
            self._is_behind = False
        except StoreError as error:
            _log.warning("new entries cannot be read from the store: %s", error)

    @property
    def _reads(self) -> bool:
        return self._reads_always or self.hub.listeners > 0

    async def run(self) -> None:
        """Publish what happens, until cancelled."""
        active = self._current.snapshot.active
        loop = asyncio.get_running_loop()

        def look() -> None:
            if self._store is not None and self._has_news(self._store):
                loop.call_soon_threadsafe(self._changed.set)

        with self._source.attend(self._hear), self._current.attend(self._changed.set), self._current.beside(look):
            self._changed.set()  # for changes since `begin`
            while await self._changed.wait():
                self._changed.clear()
                before, active = active, self._current.snapshot.active
                if active != before:
                    self.hub.publish(SWITCH, {"old_backend": before, "new_backend": active})
                if self._store is not None:
                    await self._follow(self._store)

    def _has_news(self, store: Store) -> bool:
        """Whether anything was written, by any gateway: choices are not all that is published."""
        try:
            return self._reads and store.data_version() != self._generation
        except StoreError:
            return False

    async def _follow(self, store: Store) -> None:
        if not self._reads:
            self._is_behind = True
            return
        try:
            async with self._catching_up:
                if self._is_behind:
                    await self._skip(store)
                generation = await asyncio.to_thread(store.data_version)
                if generation != self._generation:
                    await self._catch_up(store)
                    self._generation = generation
        except StoreError as error:
            _log.warning("new entries cannot be read from the store: %s", error)
            await asyncio.sleep(AGAIN_SECONDS)
            self._changed.set()

    async def _catch_up(self, store: Store) -> None:
        """Publish page by page: exchanges of a further page must not wait for the next change of the store."""
        for principal in self._principals():
            more = True
            while more:
                before = self._positions.get(principal, "")
                page, after = await asyncio.to_thread(store.exchanges_since, principal, before, limit=PAGE)
                for exchange in page:
                    self._publish(EXCHANGE, exchange)
                self._positions[principal] = after
                more = len(page) == PAGE and after != before

    def _hear(self, kind: str, value: Value) -> None:
        """What this process does. Unless the store is always read, nothing else is counted."""
        if not self._reads_always and isinstance(value, Exchange) and value.outcome != "open":
            self._finished(value)
        self._publish(kind, value)

    def _publish(self, kind: str, value: Value) -> None:
        if isinstance(value, Exchange):
            # An exchange that is over is never open again, whatever arrives later.
            state: Literal["open", "over"] = "open" if value.outcome == "open" else "over"
            if self._store is not None and self._known.get(value.id) in ("over", state):
                return
            self._known[value.id] = state
            if len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
            if self._reads_always and state == "over":
                self._finished(value)
        self.hub.publish(kind, value)


def principals_of(home: Home) -> tuple[str, ...]:
    """The operator's own, and those that keys were made for. If the table of keys cannot be read, only the operator's."""
    try:
        named = [key.principal for key in known_keys(home)]
    except SettingsInvalid:
        named = []
    return tuple(dict.fromkeys([LOCAL, *named]))
