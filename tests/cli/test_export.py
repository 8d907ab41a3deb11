"""`clew export`: conversations to standard output, to a file, or to a directory."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from clew.chat.formats import FORMATS
from tests.cli.homes import THREAD, Home, talk, turn, yesterday
from tests.store.turns import recorded


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.keep(*talk(yesterday()))
    return home


def test_a_thread_goes_to_standard_output_and_what_is_lost_to_stderr(home: Home) -> None:
    done = home.clew("export", "last")
    assert done.exit_code == 0
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[0] == {"clew": "conversations", "version": 1}
    assert lines[1]["thread"]["id"] == THREAD
    assert [line["turn"]["exchange"]["id"] for line in lines[2:]] == ["x-r0", "x-r1", "x-g", "x-refused"]
    assert done.stderr.splitlines() == ["The format clew leaves out:", *(f"  - {loss}" for loss in FORMATS["clew"].losses)]
    assert home.lines("export", THREAD[:6], "-q") == done.stdout.splitlines()


@pytest.mark.parametrize("name", FORMATS)
def test_the_help_says_of_each_format_what_it_loses(home: Home, name: str) -> None:
    said = " ".join(home.clew("export", "--help").stdout.split())
    assert f"{name}: {FORMATS[name].does}" in said
    assert [loss for loss in FORMATS[name].losses if loss not in said] == []


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_is_whole_and_its_owners_alone(home: Home, tmp_path: Path, name: str) -> None:
    file = tmp_path / "out"
    file.write_text("older")
    assert home.lines("export", "last", "--format", name, "-q", "-o", str(file)) == []
    assert file.read_text().splitlines() == home.lines("export", "last", "--format", name, "-q")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir() if path != home.root] == ["out"]


def test_a_directory_gets_a_file_for_each_thread_and_none_outside(home: Home, tmp_path: Path) -> None:
    home.keep(turn(recorded("evil", thread="../../evil"), at=yesterday()))
    out = f"{tmp_path}/pages/"
    assert home.lines("export", "--all", "--format", "html", "-q", "-o", out) == []
    assert sorted(path.name for path in Path(out).iterdir()) == [f"{THREAD}.html", "______evil.html"]
    assert not list(tmp_path.glob("*.html"))


def test_all_threads_can_go_into_one_stream(home: Home) -> None:
    home.keep(turn(recorded("a", thread="other"), at=yesterday() - 60))
    lines = home.lines("export", "--all", "-q")
    assert sum(line.startswith('{"clew"') for line in lines) == 1
    assert [json.loads(line)["thread"]["id"] for line in lines if line.startswith('{"thread"')] == [THREAD, "other"]
    assert len(home.lines("export", "--all", "-q", "--format", "anthropic")) == 2


def test_threads_that_were_used_at_the_same_moment_are_all_exported(home: Home) -> None:
    """More than a page of them."""
    home.keep(*(turn(recorded(f"n{number}", thread=f"n{number}"), at=yesterday() - 60) for number in range(250)))
    lines = home.lines("export", "--all", "-q")
    names = [json.loads(line)["thread"]["id"] for line in lines if line.startswith('{"thread"')]
    assert sorted(names) == sorted([THREAD, *(f"n{number}" for number in range(250))])


def test_as_a_backend_would_get_it_with_the_changes_on_stderr(home: Home) -> None:
    done = home.clew("export", "last", "--as", "glm")
    document = json.loads(done.stdout)
    assert set(document) == {"model", "messages"}
    assert "Thought r0." not in done.stdout
    assert "left out: made by claude" in done.stderr
    assert home.clew("export", "last", "--as", "glm", "-q").stderr == ""


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        ((), 2, "Error: Name a THREAD, or use --all: `clew show` lists the threads."),
        (("last", "--all"), 2, "Error: Name a THREAD, or use --all: `clew show` lists the threads."),
        (("--all", "--as", "glm"), 2, "Error: --as shows one conversation: name a THREAD."),
        (
            ("last", "--as", "glm", "--format", "html"),
            2,
            "Error: --as writes the backend's own format: use it without --format.",
        ),
        (("last", "--principal", "anna"), 2, "Error: No conversation was recorded yet, so there is no last one."),
        (("ffff",), 2, "Error: There is no thread 'ffff': `clew show` lists the threads."),
        (("last", "--as", "nobody"), 2, "Error: There is no backend 'nobody'. There are: claude, glm."),
        (("last", "-o", "/dev/null/x"), 1, "Error: /dev/null/x: Not a directory"),
        (("--all", "-o", "/dev/null/x/"), 1, "Error: /dev/null/x: Not a directory"),
    ],
)
def test_what_cannot_be_exported_is_said(home: Home, arguments: tuple[str, ...], code: int, why: str) -> None:
    assert home.refused("export", *arguments) == (code, why)


def test_without_a_store_there_is_nothing_to_export(tmp_path: Path) -> None:
    home = Home(tmp_path / "empty")
    assert home.refused("export", "--all") == (1, "Error: No conversation was recorded yet: there is nothing to export.")
    assert not home.file.exists()


def test_nor_is_there_in_a_store_that_has_none_of_that_principal(home: Home, tmp_path: Path) -> None:
    """An empty file would pass for a backup."""
    nothing = (1, "Error: No conversation was recorded yet: there is nothing to export.")
    assert home.refused("export", "--all", "--principal", "anna", "-o", str(tmp_path / "backup")) == nothing
    assert not (tmp_path / "backup").exists()
