"""What the admin keeps and sends while answers come, with n and 4n of each thing: chat runs, live events, feed, metrics."""

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest
from starlette.requests import Request

from clew.admin.access import AdminAccess, Caller
from clew.admin.chat.runs import ChatRun, ChatRuns
from clew.admin.exchanges import events
from clew.admin.feed import EXCHANGE, Feed
from clew.admin.metrics import Metrics
from clew.admin.services import AdminServices
from clew.engine.hub import Hub
from clew.model.turn import Exchange, Try, TurnRecord
from clew.settings.home import Home
from clew.store.sqlite.store import SqliteStore
from tests.admin.booth import present
from tests.growth.histories import HISTORIES
from tests.growth.work import check_growth
from tests.store.turns import NOON, recorded, turn

N = 24

T = TypeVar("T")

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work for a thread is done where it is asked for, because only this thread is counted."""

    async def here(work: Callable[..., T], *arguments: Any, **options: Any) -> T:
        return work(*arguments, **options)

    monkeypatch.setattr(asyncio, "to_thread", here)


# Runs of the chat.


async def _nothing() -> None:
    pass


async def _follow(run: ChatRun, head: int = 1) -> None:
    async for _ in run.follow([{"type": "start"}] * head):
        await asyncio.sleep(0)


async def _parts(run: ChatRun, n: int) -> None:
    for _ in range(n):
        run.send({"type": "text-delta", "id": "t", "delta": "word"})
        await asyncio.sleep(0)
    run.end()


async def _followed(n: int, *, before: int = 0, after: int = 0, **more: Any) -> None:
    """A run of n parts, with listeners that follow it live and others that read it when it is over."""
    run = ChatRun(**more)
    run.begin([{"type": "start"}], _nothing)
    live = [asyncio.create_task(_follow(run)) for _ in range(before)]
    await _parts(run, n)
    await asyncio.gather(*live, *(_follow(run) for _ in range(after)))


async def _head(n: int) -> None:
    run = ChatRun()
    run.begin([{"type": "start"}] * n, _nothing)
    run.end()
    await _follow(run, head=n)


async def _all_ended(n: int, *, heard: bool = False, principals: int = 1) -> None:
    """Answers, one after another, each in a chat of its own."""
    runs = ChatRuns()
    for i in range(n):
        place = f"p{i % principals}", f"t{i}"
        run = await runs.begin(place)
        run.begin([{"type": "start"}], _nothing)
        run.end()
        runs.finish(place, run)
        if heard:
            await _follow(run)
        runs.find(place)
    await runs.drain(1.0)


RUNS: dict[str, Callable[[int], Any]] = {
    "parts that nobody follows": _followed,
    "parts that somebody follows": partial(_followed, before=1),
    "parts that are read at the end": partial(_followed, after=1),
    "parts beyond the bound": partial(_followed, before=1, after=1, most_bytes=1_000),
    "listeners": lambda n: _followed(4, before=n),
    "listeners that come back": lambda n: _followed(4, after=n),
    "parts of the message before": _head,
    "answers that nobody followed": _all_ended,
    "answers that somebody followed": partial(_all_ended, heard=True),
    "answers of many principals": lambda n: _all_ended(n, principals=n),
}


@pytest.mark.parametrize("repeated", RUNS)
def test_a_chat_run_costs_work_in_proportion(repeated: str) -> None:
    check_growth(lambda n: n, lambda n: asyncio.run(RUNS[repeated](n)), 4 * N)


# Live events, the feed and the metrics.


def _exchanges(n: int) -> list[Exchange]:
    return [turn(recorded(f"r{i}"), at=NOON + i, exchange=f"r{i}").exchange for i in range(n)]


def _admin(root: Path, store: SqliteStore | None, hub: Hub, principals: int = 1) -> AdminServices:
    home = Home(root)
    current = present(home, store)
    feed = Feed(hub, store, lambda: ["local", *(f"p{i}" for i in range(1, principals))], current)
    return AdminServices(
        current=current, store=store, home=home, access=AdminAccess(), feed=feed, metrics=Metrics(), planes=lambda: ()
    )


async def _listened(desk: AdminServices, publish: Callable[[], None], last: str = "") -> int:
    """How many events somebody gets until the one that is published last."""
    request = Request({"type": "http", "query_string": b"", "headers": [(b"last-event-id", last.encode())]})
    request.state.caller = Caller("socket")
    answer: Any = await events(desk, request)
    stream: AsyncIterator[bytes] = answer.body_iterator
    await anext(stream)
    publish()
    desk.feed.hub.publish("last", {})
    found = 0
    while b"event: last" not in await anext(stream):
        found += 1
    desk.closing.set()
    return found


@pytest.mark.parametrize("kind", [EXCHANGE, "switch"])
def test_live_events_cost_work_in_proportion(kind: str, tmp_path: Path) -> None:
    def send(exchanges: list[Exchange]) -> None:
        async def scene() -> int:
            desk = _admin(tmp_path, None, Hub())

            def publish() -> None:
                for each in exchanges:
                    desk.feed.hub.publish(kind, each if kind == EXCHANGE else {"old_backend": "a", "new_backend": "b"})

            return await _listened(desk, publish)

        assert asyncio.run(scene()) == len(exchanges)

    check_growth(_exchanges, send, N)


def _keep(root: Path, turns: list[TurnRecord]) -> Path:
    with SqliteStore(Home(root).make().root / "clew.db") as store:
        for each in turns:
            store.record(each).result(120)
    return root


@pytest.mark.parametrize("repeated", ["turns", "threads", "questions without an answer", "changes of a request"])
def test_events_that_a_client_missed_cost_work_in_proportion(repeated: str, tmp_path: Path) -> None:
    def read(root: Path) -> None:
        with SqliteStore(root / "clew.db") as store:
            asyncio.run(_listened(_admin(root, store, Hub()), lambda: None, last="r0"))

    check_growth(lambda n: _keep(tmp_path / str(n), HISTORIES[repeated](n)), read, N)


@pytest.mark.parametrize("principals", [1, 4])
@pytest.mark.parametrize("outcome", ["whole", "open", "failed"])
def test_a_feed_costs_work_in_proportion(outcome: str, principals: int, tmp_path: Path) -> None:
    """It passes on what other processes keep in the store."""

    def make(n: int) -> Path:
        owners = ["local", *(f"p{i}" for i in range(1, principals))]
        answers = [recorded(f"r{i}", thread=f"t{i}", principal=owners[i % principals]) for i in range(n)]
        turns = [turn(each, at=NOON + i, exchange=each.id, outcome=outcome) for i, each in enumerate(answers)]
        return _keep(tmp_path / str(n), turns)

    def follow(root: Path) -> None:
        async def scene(store: SqliteStore) -> None:
            desk = _admin(root, store, Hub(), principals)
            async with desk.feed.hub.subscribe() as live:
                running = asyncio.create_task(desk.feed.run())
                await asyncio.wait_for(anext(live), 10)
                await asyncio.sleep(0)
                running.cancel()

        with SqliteStore(root / "clew.db") as store:
            asyncio.run(scene(store))

    check_growth(make, follow, N)


METRICS: dict[str, Callable[[int], list[Exchange]]] = {
    "exchanges": _exchanges,
    "backends": lambda n: [turn(at=NOON, backend=f"b{i}").exchange for i in range(n)],
    "statuses": lambda n: [turn(at=NOON, status=100 + i % 500).exchange for i in range(n)],
    "tries": lambda n: [turn(at=NOON, tries=(Try(backend="glm", status=529, why="busy"),) * n).exchange],
    "changes": lambda n: [each.exchange for each in HISTORIES["changes of a request"](n)],
}


@pytest.mark.parametrize("repeated", METRICS)
def test_metrics_cost_work_in_proportion(repeated: str) -> None:
    def count(exchanges: list[Exchange]) -> None:
        metrics = Metrics()
        metrics.know([each.backend for each in exchanges])
        for each in exchanges:
            metrics.count(each)
        metrics.text(None, 0, "1")

    check_growth(METRICS[repeated], count, 4 * N)
