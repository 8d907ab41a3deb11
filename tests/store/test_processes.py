"""Several processes on one file, and processes that die: what was acknowledged is there."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

from clew.store.sqlite.store import SqliteStore
from tests.counts import examples
from tests.manifest import proves
from tests.numbers import note

pytestmark = pytest.mark.slow

ENDLESS = 1_000_000


def start(path: Path, name: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.store.worker", str(path), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def kill_after(worker: subprocess.Popen[str], turns: int) -> list[str]:
    """Every turn that the process said was recorded, the last of them perhaps cut off in the middle of its name."""
    assert worker.stdout is not None
    heard = [worker.stdout.readline() for _ in range(turns)]
    worker.kill()
    heard += worker.stdout.readlines()
    worker.wait(120)
    worker.stdout.close()
    return [line.strip() for line in heard if line.endswith("\n")]


@proves("fault:P12")
def test_several_processes_write_one_file_at_once(path: Path) -> None:
    """WAL, immediate transactions and a busy timeout; nobody fails and nobody overwrites anybody."""
    workers = [start(path, f"w{number}", 60) for number in range(4)]
    heard = [worker.communicate(timeout=90)[0].split() for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * 4
    assert heard == [[f"w{number}-{each}" for each in range(60)] for number in range(4)]
    with SqliteStore(path) as store:
        found = store.recordings("local")
        assert [id for names in heard for id in names if found.by_id(id) is None] == []
        assert sorted((each.id, each.turns) for each in store.threads("local")) == [(f"w{each}", 60) for each in range(4)]
        assert store.verify() == ()


def test_what_another_process_writes_is_seen_at_the_next_look(path: Path) -> None:
    """A gateway follows `clew use`, and `clew log -f` a gateway, by asking now and then whether anything changed."""
    with SqliteStore(path) as store:
        before = store.data_version()
        worker = start(path, "w", 1)
        assert worker.communicate(timeout=30)[0].split() == ["w-0"]
        assert store.data_version() != before
        assert [each.id for each in store.exchanges("local")] == ["x-w-0"]
        after = store.data_version()
        assert store.data_version() == after


@proves("fault:P3")
def test_a_turn_that_was_acknowledged_survives_the_death_of_its_process(path: Path) -> None:
    """Law 8, `kill -9`: at any moment, with another process at work on the same file."""
    chance = random.Random(20261116)
    acknowledged: list[str] = []
    rounds = examples(20, soak=200)
    with SqliteStore(path) as bystander:
        for number in range(rounds):
            worker = start(path, f"k{number}", ENDLESS)
            acknowledged += kill_after(worker, chance.randint(1, 40))
            found = bystander.recordings("local")
            assert [id for id in acknowledged if found.by_id(id) is None] == []
    with SqliteStore(path) as store:
        assert store.verify() == ()
    note("turns acknowledged before kill -9", len(acknowledged))


def test_the_death_of_the_only_process_leaves_a_file_that_opens(path: Path) -> None:
    """Then the log is recovered by anyone who opens the file next."""
    for number in range(examples(3, soak=40)):
        acknowledged = kill_after(start(path, f"a{number}", ENDLESS), 15)
        with SqliteStore(path) as store:
            assert [id for id in acknowledged if store.recordings("local").by_id(id) is None] == []
            assert store.verify() == ()
