"""The feed: what other processes finish is found in the store, however much it is, and told once."""

import asyncio
from pathlib import Path

import pytest

from clew.admin import feed as feeds
from clew.admin.feed import Feed
from clew.engine.hub import Hub
from clew.engine.over import Alike
from clew.store import SqliteStore
from clew.store.values import Exchange, Turn


def test_more_than_a_page_is_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What would be found later may be forgotten by then to have been told, and be counted twice."""
    monkeypatch.setattr(feeds, "PAGE", 5)
    told: list[str] = []

    def heard(over: Exchange | Alike) -> None:
        assert isinstance(over, Exchange)
        told.append(over.id)

    async def run(store: SqliteStore) -> None:
        feed = Feed(Hub(), store, lambda: ["local"], active=lambda: "b", heard=heard)
        record(store, 0)
        await feed.begin()
        for number in range(1, 18):
            record(store, number)
        await feed._catch_up(store)

    with SqliteStore(tmp_path / "clew.db") as store:
        asyncio.run(run(store))
    assert told == [f"id{number:02}" for number in range(1, 18)]


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
    store.record(Turn(exchange=exchange, recording=None)).result(5)
