"""Commands whose store is locked by another process, or lies on a file system that cannot be written: one line, and no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.homes import THREAD, Home, talk, yesterday
from tests.database import connected

pytestmark = pytest.mark.slow

READ_ONLY = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$@"'


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.environ["A_KEY_THAT_NOBODY_SET"] = "k"
    home.keep(*talk(yesterday()))
    return home


@pytest.mark.parametrize("command", [["use", "claude"], ["forget", THREAD, "--yes"]], ids=lambda command: command[0])
def test_a_command_that_must_write_says_that_the_store_is_busy(home: Home, command: list[str]) -> None:
    holder = connected(home.file)
    holder.execute("BEGIN IMMEDIATE")
    done = home.clew(*command)
    holder.execute("ROLLBACK")
    holder.close()
    assert done.exit_code == 1
    [said] = done.stderr.splitlines()
    assert "clew.db is busy: it is locked by another process" in said
    assert home.clew(*command).exit_code == 0


def test_a_command_that_only_reads_does_not_wait(home: Home) -> None:
    holder = connected(home.file)
    holder.execute("BEGIN IMMEDIATE")
    assert [home.clew(*command).exit_code for command in (["show"], ["show", THREAD], ["log"], ["status"])] == [0] * 4
    holder.close()


def on_read_only(home: Home, *arguments: str) -> subprocess.CompletedProcess[str]:
    """In a mount namespace of its own, in which the home cannot be written: not even by root."""
    asked = ["unshare", "-m", "sh", "-c", READ_ONLY, "sh", str(home.root), sys.executable, "-m", "clew", *arguments]
    return subprocess.run(asked, env={**os.environ, **home.environ}, capture_output=True, text=True, timeout=120)


def can_unshare() -> bool:
    try:
        return subprocess.run(["unshare", "-m", "true"], capture_output=True, timeout=60).returncode == 0
    except OSError:
        return False


@pytest.mark.parametrize(
    "command",
    [["show"], ["log"], ["use", "claude"], ["export", "last"], ["serve", "--port", "0"], ["run", "--", "true"]],
    ids=" ".join,
)
def test_a_read_only_file_system_is_said_in_one_line(home: Home, command: list[str]) -> None:
    """A gateway that runs while its disk becomes read-only gets errors of writing: `tests/faults/test_store.py`, S2."""
    if not can_unshare():
        pytest.skip("a mount namespace needs rights that are not here")
    home.config.chmod(0o600)
    done = on_read_only(home, *command)
    assert (done.returncode in (1, 5), done.stdout) == (True, "")
    [said] = done.stderr.splitlines()
    assert "Read-only file system" in said


def test_doctor_names_a_read_only_file_system(home: Home) -> None:
    if not can_unshare():
        pytest.skip("a mount namespace needs rights that are not here")
    done = on_read_only(home, "doctor")
    assert done.returncode == 1
    assert "cannot be written, so clew keeps nothing new" in done.stdout
