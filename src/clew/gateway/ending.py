"""How a gateway's process ends: the first signal asks, the second insists, and a deadline does the rest. systemd is told.

SIGTERM and SIGINT mean the same. After the first, streams may go on for a while; after the second nothing is waited for.
Both take effect between two steps of Python, also while the event loop is busy. From the first on a `Deadline` runs, which
ends the process whatever its threads do: a thread of Python cannot be stopped, and one that works on a huge request, or
waits for a disk, a lock or a name server, would keep the process from its end.

SIGHUP has two meanings. To a process on a terminal it says that the terminal is gone, so it asks for the end; it never
insists, since a closing terminal sends several. To a service it says by custom that its settings changed. A gateway follows
its settings by itself, so a service ignores SIGHUP. A process that was started with SIGHUP ignored (`nohup`) does, too.

systemd is told that a gateway is ready, and that it is stopping (`Type=notify`). It names a socket in a variable. A message
is one datagram, and nobody answers it. Without the variable nothing is sent.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Final, Self

_FINISH_SECONDS: Final = 0.3
"""For a process that has nothing left to do but to end."""
_CUT_OFF: Final = b"clew: ends now, although a thread is still at work. What it was doing may not be recorded.\n"
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


class Deadline:
    """For the block in which a process does all its work. It runs from the first `shorten` on, or from `begin`."""

    def __init__(self) -> None:
        self.drain_seconds: Callable[[], float] = lambda: 0.0
        """How long new requests are taken, and then answers may go on."""
        self.closing_seconds: Callable[[], float] = lambda: 1.0
        """How long everything after that may take."""
        self.before_the_end: Callable[[], None] = lambda: None
        self._signals = 0
        self._code: int | None = None
        self._timers: list[threading.Timer] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for timer in self._timers:
            timer.cancel()

    def shorten(self) -> None:
        """Called for each signal to end. The first leaves time for the drain, the second for closing, the third none.

        No lock is taken, because a signal handler may interrupt another one.
        """
        self._signals += 1
        if self._signals == 1:
            self.begin(self.drain_seconds() + self.closing_seconds())
        elif self._signals == 2:
            self.begin(self.closing_seconds())
        else:
            self._end()

    def begin(self, seconds: float) -> None:
        """The process has so much time from now on, if it had not less before."""
        timer = threading.Timer(seconds, self._end)
        timer.daemon = True
        timer.start()
        self._timers.append(timer)

    def finish(self, code: int = 0) -> None:
        """Everything is recorded. The process ends now with this code, also if a thread does not end."""
        self._code = code
        self.begin(_FINISH_SECONDS)

    def _end(self) -> None:
        self.before_the_end()
        if self._code is None:
            os.write(2, _CUT_OFF)
        os._exit(1 if self._code is None else self._code)


class Ending:
    """Whether the process was asked to end: by signals while `handle_signals` runs, or by `ask`."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.insisted = asyncio.Event()
        self._deadline: Deadline | None = None

    @contextmanager
    def handle_signals(self, deadline: Deadline) -> Generator[None]:
        """In this block the process handles signals to end, and each of them shortens `deadline`."""
        loop = asyncio.get_running_loop()
        self._deadline = deadline

        def on_signal(*_: object) -> None:
            deadline.shorten()
            with suppress(RuntimeError):  # the loop is over
                loop.call_soon_threadsafe(self._set_next)

        has_terminal = _has_terminal()  # now: once it hung up, the terminal is gone

        def on_hangup() -> None:
            if has_terminal and not self.asked.is_set():
                self.ask()

        before = {number: signal.signal(number, on_signal) for number in _SIGNALS}
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            loop.add_signal_handler(signal.SIGHUP, on_hangup)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def ask(self) -> None:
        if self._deadline is not None:
            self._deadline.shorten()
        self._set_next()

    async def wait_unless_insisted(self, seconds: float) -> None:
        """Wait so long; after the second signal no longer."""
        if seconds > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self.insisted.wait()

    def _set_next(self) -> None:
        (self.insisted if self.asked.is_set() else self.asked).set()


def _has_terminal() -> bool:
    """Whether this process has a terminal that can go away, also where input and output lead elsewhere."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True


_VARIABLE: Final = "NOTIFY_SOCKET"
READY: Final = "READY=1"
STOPPING: Final = "STOPPING=1"


def notify(state: str, environ: Mapping[str, str]) -> None:
    """Send a state. A manager that cannot be reached is no reason to end."""
    name = environ.get(_VARIABLE, "")
    if not name.startswith(("/", "@")):
        return
    address = f"\0{name[1:]}" if name.startswith("@") else name
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as plug:
        plug.setblocking(False)
        plug.sendto(state.encode(), address)
