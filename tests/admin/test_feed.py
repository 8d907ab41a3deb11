"""The feed: what other processes finish is found in the store, however much it is, and told once."""

import asyncio
from pathlib import Path
from unittest.mock import Mock

import pytest

from clew.admin import feed as feeds
from clew.admin.feed import Feed
from clew.engine.hub import Hub, Subscription
from clew.errors import StoreError
from clew.model.turn import Exchange, TurnRecord
from clew.settings.home import Home
from clew.store.sqlite.store import SqliteStore
from clew.store.values import StorePlace
from tests.admin.booth import present


def test_more_than_a_page_is_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What would be found later may be forgotten by then to have been told, and be counted twice."""
    monkeypatch.setattr(feeds, "PAGE", 5)
    told: list[str] = []

    def heard(exchange: Exchange) -> None:
        told.append(exchange.id)

    async def run(store: SqliteStore) -> None:
        feed = Feed(Hub(), store, lambda: ["local"], present(Home(tmp_path), store), finished=heard)
        record(store, 0)
        await feed.begin()
        for number in range(1, 18):
            record(store, number)
        await feed._catch_up(store)

    with SqliteStore(tmp_path / "clew.db") as store:
        asyncio.run(run(store))
    assert told == [f"id{number:02}" for number in range(1, 18)]


def test_what_was_written_is_told_after_a_poll_and_what_was_written_before_at_once(tmp_path: Path) -> None:
    """Nobody polls: a feed that nobody tells of a change looks at nothing, but once at its beginning."""

    async def run(store: SqliteStore) -> list[str]:
        current = present(Home(tmp_path), store)
        current.poll()
        feed = Feed(Hub(), store, lambda: ["local"], current)
        await feed.begin()
        record(store, 1)
        async with feed.hub.subscribe() as events:
            following = asyncio.ensure_future(feed.run())
            told = [await _next(events)]
            record(store, 2)
            await asyncio.to_thread(current.poll)
            told.append(await _next(events))
        following.cancel()
        await asyncio.wait([following])
        return told

    with SqliteStore(tmp_path / "clew.db") as store:
        assert asyncio.run(run(store)) == ["id01", "id02"]


def test_a_store_that_cannot_be_read_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though nobody tells of another change."""
    monkeypatch.setattr(feeds, "AGAIN_SECONDS", 0.01)

    async def run(store: SqliteStore) -> str:
        feed = Feed(Hub(), store, lambda: ["local"], present(Home(tmp_path)))
        await feed.begin()
        record(store, 1)
        stutters = Mock(side_effect=[StoreError("a disk that stutters", file="clew.db"), store.data_version()])
        monkeypatch.setattr(store, "data_version", stutters)
        async with feed.hub.subscribe() as events:
            following = asyncio.ensure_future(feed.run())
            told = await _next(events)
        following.cancel()
        await asyncio.wait([following])
        return told

    with SqliteStore(tmp_path / "clew.db") as store:
        assert asyncio.run(run(store)) == "id01"


class SharedStore(SqliteStore):
    """As if other gateways had it open, too."""

    @property
    def place(self) -> StorePlace:
        return "shared"


def test_what_others_do_in_a_shared_store_is_read_only_while_somebody_watches(tmp_path: Path) -> None:
    """And each gateway counts its own exchanges: added up over all gateways, every exchange is counted once."""
    counted: list[str] = []

    async def run(store: SharedStore, read: Mock) -> list[str]:
        current, hub = present(Home(tmp_path), store), Hub()
        feed = Feed(hub, store, lambda: ["local"], current, finished=lambda exchange: counted.append(exchange.id))
        await feed.begin()
        following = asyncio.ensure_future(feed.run())
        record(store, 1)
        await asyncio.to_thread(current.look)
        await asyncio.to_thread(store.data_version)  # anyone who would read now has had the time to begin
        hub.publish(feeds.EXCHANGE, ended(2))
        assert (read.call_count, counted) == (0, ["id02"])
        async with feed.watch() as events:
            record(store, 3)
            await asyncio.to_thread(current.look)
            told = [await _next(events)]
            hub.publish(feeds.EXCHANGE, ended(3))
        assert counted == ["id02", "id03"], "also one that was read before it was heard of"
        following.cancel()
        await asyncio.wait([following])
        return told

    with SharedStore(tmp_path / "clew.db") as store:
        store.exchanges_since = read = Mock(side_effect=store.exchanges_since)  # type: ignore[method-assign]
        assert asyncio.run(run(store, read)) == ["id03"]


async def _next(events: Subscription) -> str:
    event = await asyncio.wait_for(anext(events), 120)
    assert isinstance(event.value, Exchange)
    return event.value.id


def ended(number: int) -> Exchange:
    id = f"id{number:02}"
    return Exchange(
        id=id,
        principal="local",
        thread=id,
        started=number,
        ended=number,
        asked_model="swift",
        backend="b",
        model="swift",
        outcome="whole",
        status=200,
    )


def record(store: SqliteStore, number: int) -> None:
    store.record(TurnRecord(exchange=ended(number), recording=None)).result(120)
