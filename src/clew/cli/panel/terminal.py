"""The terminal of a client that runs under the panel: bytes pass both ways, except for the key and while the panel is open.

The client has a pseudo-terminal of the same size. What it writes while the panel is open waits, up to a bound; then the
client waits too. The person's terminal is opened once more for this, so that it can be written without waiting and the
shell's own way of writing to it stays as it was.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import signal
import socket
import struct
import sys
import termios
import tty
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from clew.cli.panel import job
from clew.cli.panel.modes import ScreenModes
from clew.cli.panel.typed import SwitchKey, TypedReader, TypedToken, first_key
from clew.cli.panel.view import PanelFacts, SwitchPanel

_PIECE: Final = 64 * 1024
_MOST_WAITING: Final = 1024 * 1024
_SEQUENCE_SECONDS: Final = 0.05
"""How long the beginning of a sequence waits for its rest."""
_DRAWING_SECONDS: Final = 1.0
"""How long a client may take until it draws in its new size."""
_SECOND_SCREEN: Final = b"\x1b[?1049h"
_FIRST_SCREEN: Final = b"\x1b[?1049l"
_HIDE_CURSOR: Final = b"\x1b[?25l"
_SHOW_CURSOR: Final = b"\x1b[?25h"


def has_terminal() -> bool:
    """Whether a person sits in front of both ends."""
    try:
        return os.ttyname(sys.stdin.fileno()) == os.ttyname(sys.stdout.fileno())
    except (OSError, ValueError):
        return False


class ClientTerminal:
    """Runs one client. `facts` says what the panel shows, `switch` makes another backend the active one and says what it
    did."""

    def __init__(self, key: SwitchKey, facts: Callable[[], PanelFacts], switch: Callable[[str], Awaitable[str]]) -> None:
        self._key = key
        self._facts = facts
        self._switch = switch
        self._loop = asyncio.get_running_loop()
        self._typed = TypedReader(key)
        self._modes = ScreenModes()
        self._panel: SwitchPanel | None = None
        self._is_opening = False
        """The panel is to be opened as soon as the person's terminal has taken what the client wrote."""
        self._is_shorter = False
        """The client's terminal has a line less than the person's."""
        self._has_drawn = True
        """The client has written something since the panel was opened."""
        self._waiting = bytearray()
        """For the person's terminal: what it could not take yet, or what the panel hides."""
        self._to_client = bytearray()
        self._later: asyncio.TimerHandle | None = None
        self._switching: asyncio.Task[None] | None = None

    async def run(self, command: Sequence[str], environ: Mapping[str, str], started: Callable[[Process], None]) -> int:
        """Run the command to its end, and return its exit code."""
        self._tty = os.open(os.ttyname(sys.stdin.fileno()), os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        self._client, theirs = pty.openpty()
        self._before: list[Any] = termios.tcgetattr(self._tty)
        self._jobs, other = socket.socketpair()
        try:
            termios.tcsetattr(theirs, termios.TCSANOW, self._before)
            self._resize()
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", job.__file__, str(other.fileno()), *command),
                env=environ,
                stdin=theirs,
                stdout=theirs,
                stderr=theirs,
                pass_fds=(other.fileno(),),
                start_new_session=True,
            )
            os.close(theirs)
            other.close()
            started(process)
            self._begin()
            code = await process.wait()
            # What the client had written when it ended.
            with suppress(OSError):
                while data := os.read(self._client, _PIECE):
                    self._waiting += self._modes.feed(data)
            self._waiting += self._modes.flush()
            return code if code >= 0 else 128 - code
        finally:
            self._end()

    def _begin(self) -> None:
        os.set_blocking(self._client, False)
        self._jobs.setblocking(False)
        tty.setraw(self._tty, termios.TCSADRAIN)
        self._loop.add_reader(self._tty, self._read_typed)
        self._loop.add_reader(self._client, self._read_client)
        self._loop.add_reader(self._jobs, self._suspend)
        self._loop.add_signal_handler(signal.SIGWINCH, self._follow_size)

    def _end(self) -> None:
        """Leave the person's terminal as it was."""
        if self._panel is not None:
            self._close_panel()
        for descriptor in (self._tty, self._client, self._jobs.fileno()):
            self._loop.remove_reader(descriptor)
            self._loop.remove_writer(descriptor)
        self._loop.remove_signal_handler(signal.SIGWINCH)
        os.set_blocking(self._tty, True)
        with suppress(OSError):  # it may be gone
            os.write(self._tty, bytes(self._waiting) + (b"" if self._modes.shows_cursor else _SHOW_CURSOR))
            termios.tcsetattr(self._tty, termios.TCSADRAIN, self._before)
        os.close(self._tty)
        os.close(self._client)
        self._jobs.close()

    # What the client writes.

    def _read_client(self) -> None:
        try:
            data = os.read(self._client, _PIECE)
        except BlockingIOError:
            return
        except OSError:  # nobody has the other end open
            data = b""
        if not data:
            self._loop.remove_reader(self._client)
            return
        self._waiting += self._modes.feed(data)
        self._has_drawn = True
        if self._panel is None:
            self._write_waiting()
            if self._is_shorter:
                self._give_size_back()
        if len(self._waiting) > _MOST_WAITING:
            self._loop.remove_reader(self._client)

    def _write_waiting(self) -> None:
        try:
            while self._waiting:
                del self._waiting[: os.write(self._tty, self._waiting[:_PIECE])]
        except BlockingIOError:
            self._loop.add_writer(self._tty, self._write_waiting)
            return
        except OSError:  # the terminal is gone; the client is told by a signal
            self._waiting.clear()
        self._loop.remove_writer(self._tty)
        if self._is_opening:
            self._open_panel()
        self._loop.add_reader(self._client, self._read_client)

    # What the person types.

    def _read_typed(self) -> None:
        if self._later is not None:
            self._later.cancel()
        try:
            data = os.read(self._tty, _PIECE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._loop.remove_reader(self._tty)
            return
        for token in self._typed.feed(data):
            self._take(token)
        if self._typed.held:
            self._later = self._loop.call_later(_SEQUENCE_SECONDS, lambda: self._take(TypedToken(self._typed.flush())))

    def _take(self, token: TypedToken) -> None:
        if token.is_switch_key:
            self._press_switch_key(token)
            return
        data = token.data
        while data and self._panel is not None:
            key, data = first_key(data)
            if (name := self._panel.press(key)) is not None:
                self._switching = self._loop.create_task(self._choose(self._panel, name))
            elif not self._panel.is_open:
                self._close_panel()
            else:
                self._show()
        self._send(data)

    def _press_switch_key(self, token: TypedToken) -> None:
        """Open the panel. If it is open, close it and pass the key to the client."""
        if token.is_release:
            return
        if self._panel is not None:
            self._close_panel()
            self._send(token.data)
        elif self._waiting:
            self._is_opening = True
            self._loop.remove_reader(self._client)
        else:
            self._open_panel()

    async def _choose(self, panel: SwitchPanel, name: str) -> None:
        panel.message = f"Switching to {name} …"
        self._show()
        panel.message = await self._switch(name)
        panel.facts = self._facts()
        if self._panel is panel:
            self._show()

    def _send(self, data: bytes) -> None:
        """To the client. A client that does not read gets it when it does."""
        self._to_client += data
        try:
            while self._to_client:
                del self._to_client[: os.write(self._client, self._to_client[:_PIECE])]
        except BlockingIOError:
            self._loop.add_writer(self._client, lambda: self._send(b""))
            return
        except OSError:
            self._to_client.clear()
        self._loop.remove_writer(self._client)

    # The panel on the screen.

    def _show(self, before: bytes = b"") -> None:
        if self._panel is not None:
            columns, lines = os.get_terminal_size(self._tty)
            with suppress(OSError):
                os.write(self._tty, before + self._panel.draw(columns, lines).encode())

    def _open_panel(self) -> None:
        """The first screen comes back by itself. A client that is on the second one must draw it again: it does so when its
        size changes, so its terminal has a line less until it may draw again."""
        self._is_opening = False
        self._panel = SwitchPanel(self._facts(), self._key.shown)
        self._is_shorter = self._modes.on_second_screen
        self._has_drawn = False
        self._resize()
        self._show((b"" if self._modes.on_second_screen else _SECOND_SCREEN) + _HIDE_CURSOR)

    def _close_panel(self) -> None:
        self._panel = None
        modes = self._modes
        screen = b"\x1b[H\x1b[2J" if self._is_shorter else _FIRST_SCREEN
        with suppress(OSError):
            os.write(self._tty, screen + (_SHOW_CURSOR if modes.shows_cursor else b""))
        self._write_waiting()
        if self._has_drawn:
            self._give_size_back()
        elif self._is_shorter:  # it may not have seen yet that its size changed: without that it would draw nothing
            self._loop.call_later(_DRAWING_SECONDS, self._give_size_back)

    def _give_size_back(self) -> None:
        self._is_shorter = False
        self._resize()

    def _follow_size(self) -> None:
        self._resize()
        self._show()

    def _resize(self) -> None:
        """Give the client's terminal the size of the person's."""
        height, *rest = struct.unpack("HHHH", fcntl.ioctl(self._tty, termios.TIOCGWINSZ, bytes(8)))
        with suppress(OSError):
            fcntl.ioctl(self._client, termios.TIOCSWINSZ, struct.pack("HHHH", max(height - self._is_shorter, 1), *rest))

    # Ctrl-Z.

    def _suspend(self) -> None:
        """The client has stopped: clew gives the terminal back and stops too. When the shell continues clew, all goes on."""
        try:
            heard = self._jobs.recv(1)
        except BlockingIOError:
            return
        if heard != job.STOPPED:
            self._loop.remove_reader(self._jobs)
            return
        if self._panel is not None:
            self._close_panel()
        termios.tcsetattr(self._tty, termios.TCSADRAIN, self._before)
        os.kill(0, signal.SIGTSTP)
        # Here the process stands still. It goes on when it is continued.
        self._before = termios.tcgetattr(self._tty)
        tty.setraw(self._tty, termios.TCSADRAIN)
        self._resize()
        self._jobs.send(job.GO_ON)
