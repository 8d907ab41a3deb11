"""The feed: what happens in this process and in every other that shares the store, as one stream of events.

The hub tells at once what this process does. Worker processes have hubs of their own, which nobody here can hear; what they
finish is in the store, so it is asked for the exchanges after the last one known whenever a glance found that somebody wrote
to it. An exchange that both tell of is told once; one that takes its time is told twice, as `open` while it lasts and again
when it is over. Where an open one stands in the store changes with its end, so nothing is counted from there.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, Literal

from clew.engine.hub import Hub, Value
from clew.errors import StoreError
from clew.store import Store
from clew.store.values import Exchange

if TYPE_CHECKING:
    from clew.admin.desk import Present

__all__ = ["EXCHANGE", "SWITCH", "Feed"]

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
    """Begin, then run it as a task; listen to its `hub`; `heard` is called with each exchange, once."""

    def __init__(
        self,
        source: Hub,
        store: Store | None,
        principals: Callable[[], Iterable[str]],
        current: Present,
        *,
        heard: Callable[[Exchange], None] = lambda exchange: None,
    ) -> None:
        self.hub = Hub()
        self._source = source
        self._store = store
        self._principals = principals
        self._current = current
        self._changed = asyncio.Event()
        self._heard = heard
        self._seen = -1
        self._last: dict[str, str | None] = {}
        self._known: OrderedDict[str, Literal["open", "over"]] = OrderedDict()

    async def begin(self) -> None:
        """What is in the store by now is not news; all that comes after is."""
        if self._store is not None:
            await asyncio.to_thread(self._look, self._store)

    def _look(self, store: Store) -> None:
        try:
            self._seen = store.data_version()
            for principal in self._principals():
                newest = store.exchanges(principal, limit=PAGE)
                self._last[principal] = next((each.id for each in newest if each.outcome != "open"), None)
        except StoreError as error:
            _log.warning("the store cannot be followed: %s", error)

    async def run(self) -> None:
        """Pass on what happens, until cancelled."""
        active = self._current.snapshot.active
        with self._source.attend(self._tell), self._current.attend(self._changed.set):
            self._changed.set()  # whatever was written since `begin`
            while await self._changed.wait():
                self._changed.clear()
                active = self._tell_switch(active)
                if self._store is not None:
                    await self._follow(self._store)

    def _tell_switch(self, before: str) -> str:
        now = self._current.snapshot.active
        if now != before:
            self.hub.publish(SWITCH, {"old_backend": before, "new_backend": now})
        return now

    async def _follow(self, store: Store) -> None:
        try:
            changed = await asyncio.to_thread(store.data_version)
            if changed != self._seen:
                await self._catch_up(store)
                self._seen = changed
        except StoreError as error:
            _log.warning("the store cannot be followed: %s", error)
            await asyncio.sleep(AGAIN_SECONDS)
            self._changed.set()

    async def _catch_up(self, store: Store) -> None:
        for principal in self._principals():
            while await self._tell_news(store, principal):
                pass

    async def _tell_news(self, store: Store, principal: str) -> bool:
        """Whether there may be more than a page of them: what is behind it may wait for no other change."""
        before = self._last.get(principal)
        news = await asyncio.to_thread(self._news, store, principal)
        for exchange in news:
            self._tell(EXCHANGE, exchange)
        return len(news) == PAGE and self._last.get(principal) != before

    def _news(self, store: Store, principal: str) -> list[Exchange]:
        """Oldest first. The one that was last may be gone by now: then the newest are looked through."""
        last = self._last.get(principal)
        news = store.exchanges(principal, after=last, limit=PAGE) if last else []
        if not news and (last is None or store.exchange(principal, last) is None):
            news = store.exchanges(principal, limit=PAGE)[::-1]
        if over := [each for each in news if each.outcome != "open"]:
            self._last[principal] = over[-1].id
        return news

    def _tell(self, kind: str, value: Value) -> None:
        if isinstance(value, Exchange):
            if self._store is not None and self._is_known(value):
                return
            if value.outcome != "open":
                self._heard(value)
        self.hub.publish(kind, value)

    def _is_known(self, exchange: Exchange) -> bool:
        """Was it told of before? From now on it was. One that is over is not open any more, whatever is heard later."""
        id = exchange.id
        if self._known.get(id) in ("over", "open" if exchange.outcome == "open" else "over"):
            return True
        self._known[id] = "open" if exchange.outcome == "open" else "over"
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return False
