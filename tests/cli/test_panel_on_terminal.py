"""The panel of `clew run` on a real terminal, over small clients: what a person sees, types and gets back."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.testing import Simulator
from tests.cli.emulator import Emulator, emulated
from tests.gateway.served import CLEW

pytestmark = pytest.mark.slow

ECHO = """
import os, sys
print("ready", os.isatty(0), flush=True)
for line in sys.stdin:
    word = line.rstrip("\\n")
    print("got", ascii(word), flush=True)
    if word == "size":
        print(os.get_terminal_size(), flush=True)
    if word == "quit":
        sys.exit(7)
"""
FULL_SCREEN = """
import os, signal, sys, time, tty
tty.setraw(0)
def draw(*_):
    size = os.get_terminal_size()
    os.write(1, f"\\x1b[H\\x1b[2Jfull screen of {size.lines} lines".encode())
signal.signal(signal.SIGWINCH, draw)
os.write(1, b"\\x1b[?1049h\\x1b[?25l")
draw()
while (key := os.read(0, 1)) != b"q":
    os.write(1, f"\\r\\nkey {key!r}".encode())
os.write(1, b"\\x1b[?1049l\\x1b[?25h")
"""
KEY = "\x1d"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """Two backends that answer, and one whose key is not set."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    with Simulator(scenario="thinking") as sim:
        rows = "".join(
            f'[backends.{name}]\nurl = "{sim.url}"\nkey = "${{{key}}}"\n'
            for name, key in (("a", "K"), ("b", "K"), ("c", "NO"))
        )
        (home / "clew.toml").write_text(f'active = "a"\n{rows}')
        yield home


def environ(home: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "CLEW_HOME": str(home), "HOME": str(home), "K": "sim-test-key", "PS1": "$ "}


def client(code: str) -> list[str]:
    return [str(CLEW), "run", "--", sys.executable, "-c", code]


def opened(terminal: Emulator) -> str:
    terminal.type(KEY)
    return terminal.until("Thinking blocks")


def test_a_key_opens_the_panel_and_a_backend_is_switched_there(home: Path) -> None:
    with emulated(client(ECHO), environ(home)) as terminal:
        before = terminal.until("ready True")
        panel = opened(terminal)
        assert "→ 1  a" in panel and "c is disabled: the variable NO is not set" in panel and "None yet." in panel
        terminal.type("\x1b[B\r")
        assert "a → b" in terminal.until("b is active for this run, from the next request on.")
        terminal.type("\x1b")
        assert terminal.until(lambda text: text == before)
        assert "→ 2  b" in opened(terminal)
        terminal.type("q")
        terminal.until(lambda text: text == before)
        terminal.type("quit\n")
        assert terminal.ended() == 7


def test_pressed_twice_the_key_goes_to_the_client(home: Path) -> None:
    with emulated(client(ECHO), environ(home)) as terminal:
        terminal.until("ready")
        opened(terminal)
        terminal.type(f"{KEY}x\n")
        terminal.until("got '\\x1dx'")


def test_a_paste_goes_to_the_client_whatever_is_in_it(home: Path) -> None:
    with emulated(client(ECHO), environ(home)) as terminal:
        terminal.until("ready")
        terminal.type(f"\x1b[200~{KEY}\x1b[201~\n")
        terminal.until("got '\\x1b[200~\\x1d\\x1b[201~'")


def test_the_client_has_the_terminals_size_and_hears_of_a_new_one(home: Path) -> None:
    with emulated(client(ECHO), environ(home)) as terminal:
        terminal.until("ready")
        terminal.type("size\n")
        terminal.until("columns=90, lines=30")
        opened(terminal)
        terminal.resize(60, 20)
        terminal.type("\x1b")
        terminal.until("columns=90, lines=30")
        terminal.type("size\n")
        terminal.until("columns=60, lines=20")


def test_a_client_on_the_second_screen_draws_it_anew(home: Path) -> None:
    with emulated(client(FULL_SCREEN), environ(home)) as terminal:
        terminal.until("full screen of 30 lines")
        opened(terminal)
        terminal.type("\x1b")
        terminal.until(lambda text: "full screen of 30 lines" in text and "Thinking" not in text)
        assert terminal.screen.on_second
        terminal.type("q")
        assert terminal.ended() == 0
        assert not terminal.screen.on_second and not terminal.screen.cursor.hidden


def test_ctrl_c_is_the_clients(home: Path) -> None:
    with emulated(client(ECHO), environ(home)) as terminal:
        terminal.until("ready")
        terminal.type("\x03")
        terminal.until("KeyboardInterrupt")
        assert terminal.ended() == 130


def test_ctrl_z_stops_all_and_fg_goes_on_and_the_shell_gets_its_terminal_back(home: Path) -> None:
    """`got 'quit'` comes before the client ends: the shell's prompt says that it has."""
    (home / "echo.py").write_text(ECHO)
    with emulated(["/bin/bash", "--norc", "--noediting", "-i"], environ(home), width=200) as terminal:
        terminal.until("$")
        modes = terminal.modes()
        terminal.type(f"{CLEW} run -- {sys.executable} {home}/echo.py\n")
        terminal.until("ready")
        terminal.type("\x1a")
        terminal.until("Stopped")
        terminal.until(lambda text: text.endswith("$"))
        assert terminal.modes() == modes
        terminal.type("fg\n")
        terminal.type("one\n")
        terminal.until("got 'one'")
        assert "→ 1  a" in opened(terminal)
        terminal.type("qquit\n")
        terminal.until(lambda text: text.endswith("$"))
        assert terminal.modes() == modes
        terminal.type("echo code $?\n")
        terminal.until("code 7")


def test_a_command_that_is_missing_is_told_before_the_terminal_is_touched(home: Path) -> None:
    with emulated([str(CLEW), "run", "--", "no-such-command"], environ(home)) as terminal:
        terminal.until("no-such-command is not a program on your PATH")
        assert terminal.ended() == 127


def test_switched_off_the_client_has_the_terminal_itself(home: Path) -> None:
    with (home / "clew.toml").open("a") as config:
        config.write('[run]\nswitch_key = "off"\n')
    with emulated(client(ECHO), environ(home)) as terminal:
        terminal.until("ready True")
        terminal.type(f"{KEY}\n")
        terminal.until("got '\\x1d'")
