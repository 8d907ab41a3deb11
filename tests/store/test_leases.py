"""An answer that is open is under way as long as the process that hears it is there, and was cut when it is gone."""

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from clew.model.turn import TurnRecord
from clew.store.sqlite.store import SqliteStore
from tests.manifest import proves
from tests.store.turns import recorded, turn

HEARS = """
import sys
from pathlib import Path
from clew.store.sqlite.store import SqliteStore
from tests.store.test_leases import under_way
store = SqliteStore(Path(sys.argv[1]))
store.record(under_way("theirs")).result(120)
print("heard", flush=True)
sys.stdin.read()
"""


def under_way(id: str) -> TurnRecord:
    return turn(recorded(id, whole=False), exchange=id, outcome="open")


def outcomes(store: SqliteStore) -> dict[str, str]:
    listed = {each.id: each.outcome for each in store.exchanges("local")}
    one_by_one = {id: found.outcome for id in listed if (found := store.exchange("local", id))}
    assert listed == one_by_one
    return listed


def files(path: Path) -> list[Path]:
    return [file for file in path.parent.iterdir() if ".open-" in file.name]


def test_it_is_open_for_everybody_while_its_process_is_there(store: SqliteStore, path: Path) -> None:
    store.record(under_way("ours")).result(120)
    with SqliteStore(path) as other:
        assert (outcomes(store), outcomes(other)) == ({"ours": "open"}, {"ours": "open"})
        assert [stat.S_IMODE(file.stat().st_mode) for file in files(path)] == [0o600]
        store.record(turn(recorded("ours"), exchange="ours")).result(120)
        assert outcomes(other) == {"ours": "whole"}


def test_anyone_who_only_looks_or_keeps_what_is_over_leaves_nothing_beside_the_store(store: SqliteStore, path: Path) -> None:
    store.record(turn(recorded("r"))).result(120)
    assert (outcomes(store), files(path)) == ({"x-r": "whole"}, [])


def test_what_a_process_that_ended_left_open_was_cut(path: Path) -> None:
    """Of several, those of the one that ended."""
    with SqliteStore(path) as stays:
        stays.record(under_way("a")).result(120)
        with SqliteStore(path) as goes:
            goes.record(under_way("b")).result(120)
            assert outcomes(stays) == {"b": "open", "a": "open"}
        assert outcomes(stays) == {"b": "cut", "a": "open"}
    assert files(path) == []


@proves("fault:P3")
@pytest.mark.slow
def test_what_a_process_that_was_killed_left_open_was_cut(store: SqliteStore, path: Path) -> None:
    """Nothing of the process is left but its file, which the next one removes. Another process goes on hearing."""
    store.record(under_way("ours")).result(120)
    with subprocess.Popen(
        [sys.executable, "-c", HEARS, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "heard\n"
        assert outcomes(store) == {"theirs": "open", "ours": "open"}
        process.kill()
        process.wait(120)
    assert (outcomes(store), len(files(path))) == ({"theirs": "cut", "ours": "open"}, 2)
    with SqliteStore(path) as another:
        another.record(under_way("new")).result(120)
        assert (outcomes(another), len(files(path))) == ({"new": "open", "theirs": "cut", "ours": "open"}, 2)
    store.close()
    assert files(path) == []
