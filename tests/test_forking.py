"""A process that is forked does what one does that was started; only how Python starts and ends is not the same."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.forking import ClewProcess, run_clew

pytestmark = pytest.mark.slow

CLEW = Path(sys.executable).with_name("clew")


@pytest.mark.parametrize("arguments", [["--version"], ["use", "nobody"], ["config", "check"]], ids=" ".join)
def test_it_says_and_returns_what_the_program_does(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "clew.toml").write_text("active = 3")
    environ = {"CLEW_HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    started = subprocess.run([CLEW, *arguments], env=environ, capture_output=True, text=True, timeout=120)
    forked = run_clew(arguments, env=environ, timeout=120)
    assert (forked.returncode, forked.stdout, forked.stderr) == (started.returncode, started.stdout, started.stderr)


def test_it_has_an_environment_a_directory_and_an_input_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir(mode=0o700)
    done = run_clew(["statusline"], env={"CLEW_HOME": "home"}, cwd=tmp_path, input="{}", timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "clew → claude\n", "")
    assert "CLEW_HOME" not in os.environ


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 0), (signal.SIGINT, 0), (signal.SIGKILL, -signal.SIGKILL)])
def test_it_gets_signals_and_its_end_is_told(number: signal.Signals, status: int, tmp_path: Path) -> None:
    asked = ["serve", "--json", "--port", "0", "--no-admin"]
    with ClewProcess(asked, env={"CLEW_HOME": str(tmp_path)}, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert f'"pid":{process.pid},' in process.stdout.readline()
        assert process.poll() is None
        process.send_signal(number)
        assert process.wait(120) == status
        assert not Path(f"/proc/{process.pid}").exists()
