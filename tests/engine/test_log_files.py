"""Log files: one begins anew when it is full, anyone who writes to it, and what they cannot be is said at the start."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.engine.log.files import LogFile, open_log_file
from clew.errors import SettingsInvalid
from clew.settings.values import LogSettings


def contents(home: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(home.iterdir())}


@pytest.mark.parametrize(
    ("older", "left"),
    [
        (0, {"clew.log": "five\n"}),
        (1, {"clew.log": "five\n", "clew.log.1": "three\nfour\n"}),
        (2, {"clew.log": "five\n", "clew.log.1": "three\nfour\n", "clew.log.2": "one\ntwo\n"}),
    ],
)
def test_a_full_file_is_renamed_and_so_many_are_kept(tmp_path: Path, older: int, left: dict[str, str]) -> None:
    file = LogFile(tmp_path / "clew.log", most=11, older=older)
    for word in ("one", "two", "three", "four", "five"):
        file.write(f"{word}\n")
    file.close()
    assert contents(tmp_path) == left


def test_lines_that_are_written_at_once_stay_in_one_file(tmp_path: Path) -> None:
    file = LogFile(tmp_path / "clew.log", most=10, older=1)
    file.write("a line that is longer than a file\nand another\n")
    assert list(contents(tmp_path)) == ["clew.log"]


def test_processes_that_share_a_file_lose_nothing_when_one_of_them_renames_it(tmp_path: Path) -> None:
    """Each has a descriptor of its own, and both find the file full at the same time."""
    one, other = (LogFile(tmp_path / "clew.log", most=8, older=1) for _ in range(2))
    one.write("1234567\n")
    one.write("one\n")
    other.write("two\n")
    assert contents(tmp_path) == {"clew.log": "one\ntwo\n", "clew.log.1": "1234567\n"}


def test_a_file_that_was_moved_away_is_begun_anew(tmp_path: Path) -> None:
    file = LogFile(tmp_path / "clew.log", most=100, older=1)
    file.write("one\n")
    (tmp_path / "clew.log").rename(tmp_path / "saved")
    file.write("two\n")
    assert contents(tmp_path) == {"clew.log": "two\n", "saved": "one\n"}


def test_only_the_user_can_read_it_and_half_a_character_does_not_stop_it(tmp_path: Path) -> None:
    file = LogFile(tmp_path / "clew.log", most=100, older=1)
    file.write("half: \ud83d\n")
    assert (tmp_path / "clew.log").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "clew.log").read_text() == "half: \\ud83d\n"


def test_a_relative_name_begins_at_the_home_directory(tmp_path: Path) -> None:
    named = open_log_file(LogSettings(file="clew.log"), tmp_path)
    usual = open_log_file(LogSettings(), tmp_path, "run.log")
    assert (named and named.path, usual and usual.path) == (tmp_path / "clew.log", tmp_path / "run.log")
    assert open_log_file(LogSettings(), tmp_path) is None


def test_a_file_that_cannot_be_written_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(
        SettingsInvalid, match=r"missing/clew\.log: No such file or directory. Name another file in `\[log\]"
    ):
        open_log_file(LogSettings(file="missing/clew.log"), tmp_path)
