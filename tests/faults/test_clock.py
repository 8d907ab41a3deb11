"""A clock that is ahead makes everything look old: nothing is deleted for it, and it is reported."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.model.turn import Bodies
from clew.store import run_housekeeping
from clew.store.clock_checks import CLOCK_SCOPE
from clew.store.sqlite.store import SqliteStore
from clew.store.sqlite.writer import WriterLimits
from clew.store.values import DAY, Retention
from clew.testing import Simulator
from tests.cli.test_doctor import Patient
from tests.database import connected
from tests.gateway.served import Served
from tests.store.turns import NOON, recorded, turn
from tests.waiting import until

HOUR = DAY / 24
WEEK = Retention(age=7 * DAY, bytes=None, usage_age=7 * DAY)
TABLES = ("recordings", "exchanges", "bodies", "usage", "threads")


class House:
    """A store that is kept in order by a clock which the test moves."""

    def __init__(self, store: SqliteStore) -> None:
        self.store = store
        self.warned: list[str] = []

    def keep(self, *moments: float) -> None:
        """One process that looks at each of these moments, then ends."""
        looks, done = 0, asyncio.Event()

        def clock() -> float:
            nonlocal looks
            looks += 1
            if looks > len(moments):  # so what was to be done at the last of them is done
                done.set()
            return moments[min(looks, len(moments)) - 1]

        async def run() -> None:
            keeping = run_housekeeping(self.store, lambda: WEEK, clock=clock, every=0, doubted=self.warned.append)
            task = asyncio.create_task(keeping)
            await asyncio.wait_for(done.wait(), 60)
            task.cancel()

        asyncio.run(run())

    def counts(self) -> dict[str, int]:
        with connected(self.store._path) as database:
            return {table: database.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in TABLES}


def say(store: SqliteStore, id: str, at: float) -> None:
    bodies = Bodies(asked=b"{}", sent=b"{}", answered=b"{}")
    store.record(turn(recorded(id, thread=id), at=at, bodies=bodies)).result(60)
    until(lambda: not store._bodies._bytes)  # they are written


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with SqliteStore(tmp_path / "clew.db", limits=WriterLimits(long_delay=0.0)) as store:
        say(store, "r", NOON)
        yield House(store)


ALL = dict.fromkeys(TABLES, 1)
NONE = dict.fromkeys(TABLES, 0)


def test_a_clock_that_is_ahead_at_the_start_deletes_nothing(house: House) -> None:
    house.keep(NOON + 100 * DAY, NOON + 100 * DAY + 23 * HOUR)
    assert house.counts() == ALL


def test_a_clock_that_jumps_while_it_runs_deletes_nothing(house: House) -> None:
    house.keep(NOON, NOON + HOUR, NOON + 100 * DAY, NOON + 101 * DAY - HOUR)
    assert house.counts() == ALL


def test_what_is_said_under_a_wrong_clock_does_not_make_it_right(house: House) -> None:
    """Neither while it runs nor after another start: the row is new, and all others would look old beside it."""
    house.keep(NOON + 100 * DAY)
    say(house.store, "s", NOON + 100 * DAY)
    house.keep(NOON + 100 * DAY + HOUR)
    house.keep(NOON + 100 * DAY + 2 * HOUR)
    assert house.counts() == dict.fromkeys(TABLES, 2)


def test_a_clock_that_is_set_right_again_deletes_what_is_old_and_nothing_else(house: House) -> None:
    say(house.store, "new", NOON + 6 * DAY)
    house.keep(NOON + 6 * DAY)
    house.keep(NOON + 100 * DAY)
    house.keep(NOON + 8 * DAY)
    assert house.counts() == ALL
    assert [thread.id for thread in house.store.threads("local")] == ["new"]


def test_a_clock_that_stays_for_a_day_is_believed(house: House) -> None:
    """A machine that was off for a month is right, and what is too old goes."""
    house.keep(NOON + 30 * DAY, NOON + 30 * DAY + 12 * HOUR)
    assert house.counts() == ALL
    house.keep(NOON + 31 * DAY + HOUR)
    assert house.counts() == NONE


def test_a_clock_that_goes_on_as_it_should_is_believed_at_once(house: House) -> None:
    house.keep(NOON, NOON + 3 * DAY, NOON + 6 * DAY, NOON + 8 * DAY)
    assert house.counts() == NONE


def test_it_is_logged_once(house: House) -> None:
    house.keep(NOON + 100 * DAY, NOON + 100 * DAY + HOUR)
    house.keep(NOON + 100 * DAY + 2 * HOUR)
    [said] = house.warned
    assert "100 days" in said
    assert "deleted" in said


def test_too_much_still_goes(house: House) -> None:
    """The limit in bytes has nothing to do with the clock."""
    house.store.check_clock(NOON + 100 * DAY).result(60)
    while house.store.apply_retention(Retention(age=None, bytes=0, usage_age=None), now=NOON + 100 * DAY).result(60):
        pass
    assert house.counts()["recordings"] == 0


def test_doctor_says_so(tmp_path: Path) -> None:
    patient = Patient(tmp_path)
    with SqliteStore(patient.home / "clew.db") as store:
        say(store, "r", NOON)
        assert patient.wrong("clock", now=NOON + 6 * DAY) == []
        [before] = patient.wrong("clock", now=NOON + 100 * DAY)
        House(store).keep(NOON + 100 * DAY)
        [during] = patient.wrong("clock", now=NOON + 100 * DAY + HOUR)
        assert patient.wrong("clock", now=NOON + 102 * DAY) == []
    for found in (before, during):
        assert found.state == "warning"
        assert "100 days" in found.says
        assert "deleted" in found.says


FAR = "import time; now = time.time; time.time = lambda: now() + 100 * 86400; from clew.cli import main; main()"


@pytest.mark.slow
def test_a_gateway_that_starts_a_hundred_days_ahead_keeps_every_recording(simulator: Simulator) -> None:
    row = f'[backends.a]\nurl = "{simulator.url}"\nkey = "{simulator.key}"\n'
    ahead = Served(f'active = "a"\n[gateway]\nadmin_port = 0\n{row}', command=(sys.executable, "-c", FAR))
    with SqliteStore(ahead.home / "clew.db") as store:
        for number in range(40):
            store.record(turn(recorded(f"r{number}", thread=f"t{number}"), at=time.time())).result(60)
    with ahead:
        with SqliteStore(ahead.home / "clew.db") as store:
            until(lambda: store.settings(CLOCK_SCOPE), seconds=60)
            assert len(store.threads("local", limit=100)) == 40
        environment = {**ahead.environment, "HOME": str(ahead.home)}
        asked = [sys.executable, "-c", FAR, "doctor"]
        told = subprocess.run(asked, env=environment, capture_output=True, text=True, timeout=120, cwd=ahead.home)
        assert "nothing is deleted for its age" in told.stdout
        assert "nothing is deleted for its age" in (ahead.home / "log").read_text()
