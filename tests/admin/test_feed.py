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


def test_what_was_written_is_told_after_a_glance_and_what_was_written_before_at_once(tmp_path: Path) -> None:
    """Nobody polls: a feed that nobody tells of a change looks at nothing, but once at its beginning."""

    async def run(store: SqliteStore) -> list[str]:
        current = present(Home(tmp_path), store)
        current.glance()
        feed = Feed(Hub(), store, lambda: ["local"], current)
        await feed.begin()
        record(store, 1)
        async with feed.hub.subscribe() as events:
            following = asyncio.ensure_future(feed.run())
            told = [await _next(events)]
            record(store, 2)
            await asyncio.to_thread(current.glance)
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


async def _next(events: Subscription) -> str:
    event = await asyncio.wait_for(anext(events), 120)
    assert isinstance(event.value, Exchange)
    return event.value.id


def record(store: SqliteStore, number: int) -> None:
    id = f"id{number:02}"
    exchange = Exchange(
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
    store.record(TurnRecord(exchange=exchange, recording=None)).result(120)
