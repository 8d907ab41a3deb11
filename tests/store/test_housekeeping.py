"""Retention as a task: in small bites, by the settings of the moment, and nobody's turn waits for it."""

import asyncio
from itertools import count
from pathlib import Path

from clew.store import run_housekeeping, tidy
from clew.store.sqlite.deletions import BATCH
from clew.store.sqlite.store import SqliteStore
from clew.store.values import DAY, Retention
from tests.store.turns import NOON, recorded, turn

FIVE_DAYS = Retention(age=5 * DAY, bytes=None)


def fill(store: SqliteStore, count: int) -> None:
    for write in [store.record(turn(recorded(f"r{number}", thread=f"t{number}"))) for number in range(count)]:
        write.result(120)


def test_what_is_too_old_goes_bite_by_bite(store: SqliteStore) -> None:
    fill(store, BATCH + 50)
    assert asyncio.run(tidy(store, FIVE_DAYS, now=NOON + 6 * DAY, pause=0)) == BATCH + 50
    assert store.threads("local") == []


def test_a_turn_is_recorded_between_two_bites(store: SqliteStore) -> None:
    """It waits for one bite at most."""
    fill(store, 3 * BATCH)

    async def both() -> tuple[int, int]:
        tidying = asyncio.create_task(tidy(store, FIVE_DAYS, now=NOON + 6 * DAY, pause=0.01))
        await asyncio.sleep(0)
        await asyncio.wrap_future(store.record(turn(recorded("new"), at=NOON + 6 * DAY)))
        left = len(store.threads("local", limit=1000))
        return left, await tidying

    left, gone = asyncio.run(both())
    assert (left > BATCH, gone) == (True, 3 * BATCH)
    assert [each.id for each in store.threads("local")] == ["t"]


def test_the_house_is_kept_by_the_settings_of_the_moment(store: SqliteStore) -> None:
    fill(store, 3)
    ages = iter([Retention(age=None, bytes=None), FIVE_DAYS])
    asked = asyncio.Event()

    def retention() -> Retention:
        now = next(ages, None)
        if now is None:
            asked.set()
        return now or FIVE_DAYS

    async def keep() -> None:
        task = asyncio.create_task(run_housekeeping(store, retention, clock=lambda: NOON + 6 * DAY, every=0.01))
        await asyncio.wait_for(asked.wait(), 120)
        task.cancel()

    asyncio.run(keep())
    assert store.threads("local") == []


def test_a_store_that_cannot_be_written_is_tried_again(path: Path) -> None:
    """Old records harm nobody; the gateway goes on."""
    store = SqliteStore(path)
    store.close()
    rounds: list[int] = []
    enough = asyncio.Event()

    def retention() -> Retention:
        rounds.append(1)
        if len(rounds) == 3:
            enough.set()
        return FIVE_DAYS

    async def keep() -> bool:
        task = asyncio.create_task(run_housekeeping(store, retention, clock=lambda: NOON, every=0))
        await asyncio.wait_for(enough.wait(), 120)
        ended = task.done()
        task.cancel()
        return ended

    assert asyncio.run(keep()) is False


def test_where_turns_come_without_end_retention_still_gets_its_turn(store: SqliteStore) -> None:
    """There is always something new for the index then; the round ends all the same, and another begins."""
    rounds = 0
    enough = asyncio.Event()

    def retention() -> Retention:
        nonlocal rounds
        rounds += 1
        if rounds == 3:
            enough.set()
        return FIVE_DAYS

    async def talk() -> None:
        for number in count():
            await asyncio.wrap_future(store.record(turn(recorded(f"r{number}"))))

    async def keep() -> None:
        keeping = run_housekeeping(store, retention, clock=lambda: NOON, every=0.01, most=0.05)
        tasks = [asyncio.create_task(talk()), asyncio.create_task(keeping)]
        await asyncio.wait_for(enough.wait(), 120)
        for task in tasks:
            task.cancel()

    asyncio.run(keep())


def test_a_round_that_did_not_get_done_is_followed_by_the_next_at_once(store: SqliteStore) -> None:
    """Else a busy store could grow: more may come than goes, if half of the time nothing does."""
    fill(store, 3 * BATCH)

    empty = asyncio.Event()

    def retention() -> Retention:
        if not store.threads("local"):
            empty.set()
        return FIVE_DAYS

    async def keep() -> None:
        task = asyncio.create_task(run_housekeeping(store, retention, clock=lambda: NOON + 6 * DAY, every=3600, most=0))
        await asyncio.wait_for(empty.wait(), 120)
        task.cancel()

    asyncio.run(keep())
    assert store.threads("local") == []
