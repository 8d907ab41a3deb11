"""Files of every schema that ever was open and are brought up to date; a newer one is refused."""

import inspect
import re
import shutil
import threading
from pathlib import Path

import apsw
import pytest

from clew.errors import RecordCorrupt, SchemaTooNew, StoreError
from clew.store.sqlite.database import APPLICATION
from clew.store.sqlite.migrations import MIGRATIONS
from clew.store.sqlite.store import SqliteStore
from clew.store.values import Passage, Statistics, StoreFault
from tests.database import connected
from tests.manifest import proves
from tests.store.make_old import OLD, content
from tests.store.turns import NOON, recorded, turn

VERSIONS = range(1, len(MIGRATIONS) + 1)


def test_each_step_has_its_number_and_its_why() -> None:
    names = [step.__name__ for step in MIGRATIONS]
    assert [name[:5] for name in names] == [f"m{number:03}_" for number in VERSIONS]
    assert [name for name, step in zip(names, MIGRATIONS, strict=True) if len(inspect.getdoc(step) or "") < 100] == []


def test_there_is_a_file_of_every_schema() -> None:
    assert {file.name for file in OLD.iterdir()} == {f"v{number}.sqlite" for number in VERSIONS}


@proves("fault:P13")
@pytest.mark.parametrize("version", VERSIONS)
def test_an_old_file_opens_with_all_that_it_held(version: int, path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    shutil.copy(OLD / f"v{version}.sqlite", path)
    path.chmod(0o600)
    for _ in range(2):  # the second time there is nothing to migrate
        with SqliteStore(path) as store:
            held = content()
            assert [store.recordings("local").by_id(each.id) for each in held] == held
            assert store.statistics("local", backend="glm", now=NOON) == Statistics(
                total=4, confirmed=1, unconfirmed=3, current_session=1, old_session=3, unknown=1
            )
            assert store.settings() == {"active": "glm"}
            assert [(each.id, each.turns) for each in store.threads("local")] == [("t", 3), ("u", 1)]
            assert store.passages("local", "t") + store.passages("local", "u") == [
                Passage(exchange=f"x-{each.id}", at=NOON, asked=turn(each).asked, recording=each) for each in held
            ]
            assert store.thread_of("local", "s", "a") == "u"
            assert {(each.dialect, each.client) for each in store.exchanges("local")} == {("anthropic", "")}
            assert store.verify() == ()
    with SqliteStore(path) as store:
        assert store.record(turn(recorded("new"))).result(120)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_changed_byte_in_an_old_file_is_found(version: int, path: Path) -> None:
    """By the sum that it was written with, and with others beside it that are written now."""
    path.parent.mkdir(mode=0o700)
    shutil.copy(OLD / f"v{version}.sqlite", path)
    path.chmod(0o600)
    with SqliteStore(path) as store:
        store.record(turn(recorded("new"))).result(120)
        assert store.verify() == ()
        connection = connected(path)
        connection.execute("UPDATE recordings SET account = account || 'x' WHERE id = 'g'")
        connection.close()
        assert store.verify() == (StoreFault("g", "its bytes are not those that were recorded"),)


def test_what_a_round_of_retention_left_behind_goes(path: Path) -> None:
    """A thread went after its last turn did, before schema 9, if nothing came between."""
    path.parent.mkdir(mode=0o700)
    shutil.copy(OLD / "v8.sqlite", path)
    path.chmod(0o600)
    connection = connected(path)
    connection.execute("INSERT INTO threads VALUES ('local', 'empty', '', '', 'A title', '', 0, 0)")
    connection.close()
    with SqliteStore(path) as store:
        assert [each.id for each in store.threads("local")] == ["t", "u"]


@proves("fault:P13")
def test_a_newer_schema_is_refused_with_both_numbers_and_left_alone(path: Path) -> None:
    SqliteStore(path).close()
    connection = connected(path)
    connection.pragma("user_version", len(MIGRATIONS) + 1)
    connection.close()
    before = path.read_bytes()
    words = f"{path} has schema {len(MIGRATIONS) + 1}, written by a newer clew; this one knows up to {len(MIGRATIONS)}"
    with pytest.raises(SchemaTooNew, match=re.escape(words)) as caught:
        SqliteStore(path)
    assert caught.value.file == str(path)
    assert path.read_bytes() == before


def test_another_programs_database_is_refused(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    connection = connected(path)
    connection.execute("CREATE TABLE mine (x)")
    connection.close()
    path.chmod(0o600)
    with pytest.raises(RecordCorrupt, match="is another program's database"):
        SqliteStore(path)


def test_a_step_that_fails_leaves_the_old_schema(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def m999_fails(connection: apsw.Connection) -> None:
        connection.execute("CREATE TABLE half (x)")
        connection.execute("CREATE TABLE half (x)")

    SqliteStore(path).close()
    with monkeypatch.context() as patch:
        patch.setattr("clew.store.sqlite.store.MIGRATIONS", (*MIGRATIONS, m999_fails))
        with pytest.raises(StoreError, match="half already exists"):
            SqliteStore(path)
    with SqliteStore(path) as store, store._readers.use() as connection:
        assert connection.pragma("user_version") == len(MIGRATIONS)
        assert connection.pragma("application_id") == APPLICATION
        assert connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'half'").get is None


def test_many_may_open_a_new_file_at_once(path: Path) -> None:
    opened: list[SqliteStore] = []
    threads = [threading.Thread(target=lambda: opened.append(SqliteStore(path))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert len(opened) == 8
    for number, store in enumerate(opened):
        assert store.record(turn(recorded(f"r{number}"))).result(5)
    for store in opened:
        store.close()
