"""Commands on a terminal of their own: what a person would type, and what they would see."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator
from fcntl import ioctl
from pathlib import Path

from tests.chat.display.screen import Screen
from tests.cli.homes import Home
from tests.forking import ClewProcess
from tests.gateway.served import MOST_SECONDS

__all__ = ["Pty", "on_terminal"]


class Pty:
    """One command on one terminal."""

    def __init__(self, process: subprocess.Popen[bytes], file: int, screen: Screen) -> None:
        self.process = process
        self.screen = screen
        self._file = file
        self._raw = b""

    def hang_up(self) -> None:
        """Close the terminal; what the command writes from now on fails."""
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)

    def type(self, text: str) -> None:
        os.write(self._file, text.encode())

    def until(self, seen: str | Callable[[list[str]], object]) -> list[str]:
        """Reads until this is on the screen; its lines."""
        end = time.monotonic() + MOST_SECONDS
        true = (lambda lines: seen in "\n".join(lines)) if isinstance(seen, str) else seen
        while not true(self.screen.lines):
            assert time.monotonic() < end, "\n".join(self.screen.lines)
            assert self._read() or true(self.screen.lines), "\n".join(self.screen.lines)
        return self.screen.lines

    @property
    def echoes(self) -> bool:
        """Whether the terminal itself shows what is typed."""
        return bool(termios.tcgetattr(self._file)[3] & termios.ECHO)

    def is_asleep(self) -> bool:
        """Whether the command's main thread waits for something."""
        stat = Path(f"/proc/{self.process.pid}/stat")
        return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "S"

    def ended(self) -> int:
        """Reads until the command ends; its exit code."""
        while self._read():
            pass
        return self.process.wait(MOST_SECONDS)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._file], [], [], MOST_SECONDS)
        assert ready, "\n".join(self.screen.lines)
        try:
            self._raw += os.read(self._file, 65_536)
        except OSError:  # the other end is closed
            return False
        text = self._raw.decode("utf-8", "ignore")
        whole = len(text.encode())
        self._raw = self._raw[whole:]
        self.screen.feed(text)
        return bool(text)


@contextlib.contextmanager
def on_terminal(home: Home, *arguments: str, width: int = 90, height: int = 30) -> Iterator[Pty]:
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
    environ = {**os.environ, **home.environ, "TERM": "xterm-256color", "INPUTRC": os.devnull}
    process = ClewProcess(
        arguments,
        env={name: value for name, value in environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    terminal = Pty(process, ours, Screen(width, height))
    try:
        yield terminal
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait()
        terminal.hang_up()
