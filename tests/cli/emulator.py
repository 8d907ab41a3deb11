"""A terminal emulator for tests: a command runs on it, keys are typed, and its screen is read as a person would see it.

`pyte` emulates the terminal. It has one screen only, so the second one, on which full-screen programs draw, is added here.
"""

from __future__ import annotations

import contextlib
import copy
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyte

MOST_SECONDS = 150
_OWNS_TERMINAL = """
import fcntl, os, signal, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
    signal.signal(number, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])
"""
"""The command leads the terminal's session, and hears the signals that a suite in the background ignores."""
_SECOND_SCREEN = {47, 1047, 1049}


class TwoScreens(pyte.Screen):
    """A screen with a second one. `on_second` says which is seen."""

    on_second = False
    _first: Any = None

    def set_mode(self, *modes: int, **given: Any) -> None:
        if given.get("private") and _SECOND_SCREEN & set(modes) and not self.on_second:
            self.on_second, self._first = True, (copy.deepcopy(self.buffer), copy.copy(self.cursor))
            self.erase_in_display(2)
        super().set_mode(*modes, **given)

    def reset_mode(self, *modes: int, **given: Any) -> None:
        super().reset_mode(*modes, **given)
        if given.get("private") and _SECOND_SCREEN & set(modes) and self.on_second:
            self.on_second = False
            self.buffer, self.cursor = self._first

    def report_device_status(self, mode: int, **given: Any) -> None:
        super().report_device_status(mode)

    def report_device_attributes(self, mode: int = 0, **given: Any) -> None:
        if not given:
            super().report_device_attributes(mode)

    def set_margins(self, *given: Any, **more: Any) -> None:
        super().set_margins(*given)

    def select_graphic_rendition(self, *attributes: int, **given: Any) -> None:
        if not given:
            super().select_graphic_rendition(*attributes)


class Emulator:
    """One command on one terminal, of its own session, as a terminal window has it."""

    def __init__(self, process: subprocess.Popen[bytes], file: int, width: int, height: int) -> None:
        self.process = process
        self.screen = TwoScreens(width, height)
        self.screen.write_process_input = self.type
        self.written = b""
        """All that came from the command."""
        self._stream = pyte.ByteStream(self.screen)
        self._file = file

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in self.screen.display]

    @property
    def text(self) -> str:
        return "\n".join(self.lines).rstrip()

    def type(self, data: str) -> None:
        os.write(self._file, data.encode())

    def resize(self, width: int, height: int) -> None:
        fcntl.ioctl(self._file, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        self.screen.resize(height, width)

    def modes(self) -> list[Any]:
        """The settings of the terminal, as `stty` shows them."""
        return termios.tcgetattr(self._file)

    def until(self, seen: str | Callable[[str], object]) -> str:
        """Read until this is on the screen; the screen's text."""
        is_seen = (lambda text: seen in text) if isinstance(seen, str) else seen
        end = time.monotonic() + MOST_SECONDS
        while not is_seen(self.text):
            assert time.monotonic() < end, self.text
            assert self._read() or is_seen(self.text), self.text
        return self.text

    def ended(self) -> int:
        """Read until the command ends; its exit code."""
        while self._read():
            pass
        return self.process.wait(MOST_SECONDS)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._file], [], [], MOST_SECONDS)
        assert ready, self.text
        try:
            data = os.read(self._file, 65_536)
        except OSError:  # nobody has the other end open any more
            return False
        self.written += data
        self._stream.feed(data)
        return bool(data)


@contextlib.contextmanager
def emulated(
    command: Sequence[str | Path], environ: Mapping[str, str], *, cwd: Path | None = None, width: int = 90, height: int = 30
) -> Iterator[Emulator]:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _OWNS_TERMINAL, *command],
        env={**environ, "TERM": "xterm-256color"},
        cwd=cwd,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield Emulator(process, ours, width, height)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(ours)
