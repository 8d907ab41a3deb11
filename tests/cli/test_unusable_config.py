"""A config that cannot be used may name another store than the usual one: commands that read say so, and none changes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.homes import THREAD, Home, talk, yesterday

READING = (["log"], ["show", THREAD, "--json"], ["usage", "--csv"], ["keys", "list"], ["limits", "list"], ["audit"])
CHANGING = (["forget", THREAD, "--yes"], ["keys", "add", "anna"], ["import", "-"], ["log", "-f"])


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.keep(*talk(yesterday()))
    home.config.write_text("[store\nurl = 1")
    return home


@pytest.mark.parametrize("command", READING, ids=" ".join)
def test_a_command_that_reads_says_which_store_it_reads(home: Home, command: list[str]) -> None:
    done = home.clew(*command)
    problem, store = done.stderr.splitlines()[:2]
    assert done.exit_code == 0
    assert str(home.config) in problem
    assert store == f"So this reads the usual store, {home.file}; the settings may name another."
    assert "usual store" not in done.stdout


@pytest.mark.parametrize("command", CHANGING, ids=" ".join)
def test_a_command_that_changes_a_store_changes_none(home: Home, command: list[str]) -> None:
    before = home.file.read_bytes()
    done = home.clew(*command)
    assert (done.exit_code, done.stdout) == (5, "")
    assert str(home.config) in done.stderr
    assert home.file.read_bytes() == before


def test_the_status_has_the_problem_once(home: Home) -> None:
    done = home.clew("status")
    assert done.exit_code == 5
    assert (done.stdout + done.stderr).count(str(home.config)) == 1
