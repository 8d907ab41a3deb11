"""A command says what is wrong in one sentence, whatever its streams are and whatever the system refuses."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from clew.settings.home import USABLE_HOME
from tests.cli.homes import Home, talk, yesterday
from tests.cli.invoking import Clew

CLEW = (sys.executable, "-c", "from clew.cli import main; main(prog_name='clew')")


def shell(line: str, home: Home, **environ: str) -> subprocess.CompletedProcess[str]:
    """A line of a shell's, in which `clew` is the command."""
    command = ["sh", "-c", line.replace("clew", '"$@"', 1), "sh", *CLEW]
    return subprocess.run(command, env=os.environ | home.environ | environ, capture_output=True, text=True, timeout=60)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.keep(*talk(yesterday()))
    return home


@pytest.mark.slow
@pytest.mark.parametrize("line", ["clew log >&-", "clew statusline <&-", "clew log 2>&-", "clew backends <&-"])
def test_a_stream_that_is_closed_is_as_one_that_leads_nowhere(line: str, home: Home) -> None:
    ran = shell(line, home)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("command", ["log", "status --json", "export --all -q"])
def test_a_disk_that_is_full_is_said_in_one_line(command: str, home: Home) -> None:
    ran = shell(f"clew {command} > /dev/full", home)
    assert (ran.returncode, ran.stderr) == (1, "Error: No space left on device\n")


@pytest.mark.slow
def test_what_an_encoding_does_not_have_is_said_as_an_escape(home: Home) -> None:
    ran = shell("clew log -n 1", home, PYTHONIOENCODING="ascii")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "claude-opus-5-5 \\u2192 claude" in ran.stdout


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["utf-8:strict", "utf-8:surrogateescape"])
@pytest.mark.parametrize("command", ["ask", "chat"])
def test_what_is_piped_in_and_is_no_text_is_wrong_usage(command: str, encoding: str, tmp_path: Path) -> None:
    home = Home(tmp_path / "home", "")
    (tmp_path / "bytes").write_bytes(b"Hello \xff\n")
    ran = shell(f"clew {command} < {tmp_path}/bytes", home, PYTHONIOENCODING=encoding)
    assert (ran.returncode, "Error: The piped input is not text: invalid start byte." in ran.stderr) == (2, True)


def test_a_home_that_cannot_be_looked_at_is_named(tmp_path: Path) -> None:
    clew = Clew(tmp_path / ("x" * 300))
    told, line = clew("use"), clew("statusline")
    assert (told.exit_code, told.output) == (1, f"Error: cannot use {clew.home}: File name too long. {USABLE_HOME}.\n")
    assert (line.exit_code, line.output.startswith("clew: ")) == (0, True)
