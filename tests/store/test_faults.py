"""Disks that are full or fail, files that are damaged or not ours to use: clear errors, and nothing broken behind them."""

import os
import re
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from clew.errors import RecordCorrupt, StoreError
from clew.store.sqlite.database import connect, store_error
from clew.store.sqlite.store import SqliteStore
from clew.store.sqlite.writer import WriterLimits
from tests.manifest import proves
from tests.store.turns import recorded, turn
from tests.waiting import until


class FaultyFile(apsw.VFSFile):
    def __init__(self, name, flags, disk: "FaultyDisk") -> None:
        super().__init__("", name, flags)
        self._disk = disk
        self._name = Path(name.filename() if isinstance(name, apsw.URIFilename) else name).name

    def xWrite(self, data, offset) -> None:
        if self._disk.full or self._disk.full_for == self._name:
            raise apsw.FullError("no space")
        super().xWrite(data, offset)

    def xSync(self, flags) -> None:
        if self._disk.failing:
            raise apsw.IOError("fsync failed")
        super().xSync(flags)


class FaultyDisk(apsw.VFS):
    """A file system whose disk is full, or fails to sync, when told."""

    def __init__(self) -> None:
        self.full = False
        self.full_for = ""
        self.failing = False
        self.name = f"faulty-{id(self)}"
        super().__init__(self.name, "")

    def xOpen(self, name, flags) -> FaultyFile:
        return FaultyFile(name, flags, self)


@pytest.fixture
def disk() -> Iterator[FaultyDisk]:
    disk = FaultyDisk()
    yield disk
    disk.unregister()


@proves("fault:S1")
def test_a_full_disk_is_said_harms_nothing_and_is_tried_again(path: Path, disk: FaultyDisk) -> None:
    """S1."""
    first, second = recorded("first"), recorded("second", before=(recorded("first"),))
    with SqliteStore(path, vfs=disk.name) as store:
        store.record(turn(first)).result(120)
        disk.full = True
        with pytest.raises(StoreError, match="the disk is full"):
            store.record(turn(second)).result(120)
        assert (store.health().state, "the disk is full" in store.health().why) == ("degraded", True)
        assert [store.recordings("local").by_id(each) for each in ("first", "second")] == [first, None]
        disk.full = False
        assert store.record(turn(second)).result(120) is True
        assert store.health().state == "ok"
        assert store.verify() == ()


@proves("fault:S2")
def test_a_disk_that_fails_to_sync_makes_the_store_read_only(path: Path, disk: FaultyDisk) -> None:
    """S2: after a failed sync nobody knows what is on the disk, and a second one may lie."""
    first = recorded("first")
    with SqliteStore(path, vfs=disk.name) as store:
        store.record(turn(first)).result(120)
        disk.failing = True
        with pytest.raises(StoreError, match="the disk reports an error"):
            store.record(turn(recorded("second"))).result(120)
        disk.failing = False
        with pytest.raises(StoreError, match=r"is read-only since a failure: .* the disk reports an error"):
            store.record(turn(recorded("third"))).result(120)
        assert store.health().state == "read-only"
        assert store.recordings("local").by_id("first") == first
    with SqliteStore(path) as store:
        assert store.record(turn(recorded("third"))).result(120) is True
        assert store.verify() == ()


@proves("fault:S2")
def test_what_waited_while_the_disk_failed_is_not_written_either(path: Path, disk: FaultyDisk) -> None:
    """S2: though the disk says by then that all is well again."""
    with SqliteStore(path, vfs=disk.name, limits=WriterLimits(batch=1, checkpoint_pages=1)) as store:
        store.record(turn(recorded("first"))).result(120)
        begun = threading.Event()
        held = store._writer.submit(lambda connection: begun.wait(5))
        failing, waiting = (store.record(turn(recorded(name))) for name in ("second", "third"))
        failing.add_done_callback(lambda _: setattr(disk, "failing", False))
        held.add_done_callback(lambda _: setattr(disk, "failing", True))
        begun.set()
        with pytest.raises(StoreError, match="the disk reports an error"):
            failing.result(120)
        with pytest.raises(StoreError, match=r"is read-only since a failure: .* the disk reports an error"):
            waiting.result(120)
        assert store.health().state == "read-only"
    with SqliteStore(path) as store:
        assert [store.recordings("local").by_id(each) is not None for each in ("first", "third")] == [True, False]
        assert store.verify() == ()


@proves("fault:S1")
def test_a_disk_that_is_full_when_the_log_is_emptied_loses_nothing(path: Path, disk: FaultyDisk) -> None:
    """S1: the turn is in the log, which is where it is found, and the next checkpoint takes it over."""
    with SqliteStore(path, vfs=disk.name, limits=WriterLimits(checkpoint_pages=1)) as store:
        disk.full_for = path.name
        assert store.record(turn(recorded("first"))).result(120) is True
        until(lambda: store.health().state != "ok")
        assert (store.health().state, store.recordings("local").by_id("first")) == ("degraded", recorded("first"))
        disk.full_for = ""
        assert store.record(turn(recorded("second"))).result(120) is True
    with SqliteStore(path) as store:
        assert [store.recordings("local").by_id(each) is not None for each in ("first", "second")] == [True, True]
        assert store.verify() == ()


@pytest.mark.parametrize("linked", ["3.40.1", "3.51.2"])
def test_a_sqlite_that_can_damage_a_shared_file_is_refused(linked: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: linked)
    with pytest.raises(StoreError, match=re.escape(f"is not opened with SQLite {linked}, which can damage it")):
        SqliteStore(path)
    assert not path.exists()


def test_files_are_private_from_the_start(path: Path) -> None:
    """0600 in 0700, the log and its index too, whatever the umask."""
    old = os.umask(0)
    try:
        with SqliteStore(path) as store:
            store.record(turn(recorded("r"))).result(120)
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    finally:
        os.umask(old)
    names = ("store.sqlite", "store.sqlite-shm", "store.sqlite-wal", "store.sqlite.lock")
    assert modes == dict.fromkeys(names, 0o600)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(("which", "mode", "better"), [("file", 0o644, "600"), ("directory", 0o770, "700")])
def test_what_others_can_use_is_refused_with_the_way_out(path: Path, which: str, mode: int, better: str) -> None:
    SqliteStore(path).close()
    target = path if which == "file" else path.parent
    target.chmod(mode)
    with pytest.raises(StoreError, match=re.escape(f"run `chmod {better} {target}`")):
        SqliteStore(path)
    target.chmod(int(better, 8))
    SqliteStore(path).close()


def test_a_damaged_file_is_refused(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    path.write_bytes(b"this is no database " * 500)
    path.chmod(0o600)
    with pytest.raises(RecordCorrupt, match="is damaged, or no store"):
        SqliteStore(path)


def test_a_directory_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match=r"cannot be used: .*/file: File exists") as caught:
        SqliteStore(tmp_path / "file" / "store.sqlite")
    assert caught.value.file.endswith("store.sqlite")


def test_a_file_that_cannot_be_written_is_said(path: Path) -> None:
    """As SQLite reports it; which user runs the test does not matter."""
    SqliteStore(path).close()
    connection = connect(path, read_only=True)
    with pytest.raises(apsw.ReadOnlyError) as caught:
        connection.execute("DELETE FROM recordings")
    assert str(store_error(caught.value, path)).startswith(f"{path} cannot be written; check the rights")
    connection.close()


OTHER_USER = """
import os, sys
from pathlib import Path
from clew.errors import StoreError
from clew.store.sqlite.store import SqliteStore
os.setuid(65534)
try:
    SqliteStore(Path(sys.argv[1]))
except StoreError as error:
    print(error)
"""


@pytest.mark.slow
def test_a_directory_that_is_read_only_is_said() -> None:
    """In a process without the rights of root, which no mode can keep out."""
    script = OTHER_USER if os.getuid() == 0 else OTHER_USER.replace("os.setuid(65534)", "")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o555)
        target = Path(folder) / "store.sqlite"
        done = subprocess.run([sys.executable, "-c", script, str(target)], capture_output=True, text=True, timeout=120)
        Path(folder).chmod(0o700)
    rights = "check the rights of the file and of its directory, and that its file system can be written"
    assert done.stdout == f"{target} cannot be used: {target}: Permission denied; {rights}\n"
