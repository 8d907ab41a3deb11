"""Wakeup: what a thread waits on that looks for changes again and again: some seconds, or until somebody wakes it.

Another process wakes it by a byte into a FIFO, where one was asked for and can be made; this process by `wake`.
"""

from __future__ import annotations

import os
import select
import threading
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG
from typing import TypeAlias

_MOST_BYTES = 4096


class Wakeup:
    """Used by one thread that waits, and by any that wake it."""

    def __init__(self, path: Path | None = None) -> None:
        self._reads, self._writes = _fifo(path) if path else os.pipe()
        for descriptor in (self._reads, self._writes):
            os.set_blocking(descriptor, False)
        self._poll = select.poll()  # and not select: a process may have thousands of descriptors
        self._poll.register(self._reads, select.POLLIN)
        self._open = True
        self._lock = threading.Lock()

    def wait(self, seconds: float) -> bytes:
        """What others wrote meanwhile; nothing if the time is over."""
        if not self._poll.poll(seconds * 1000):
            return b""
        with suppress(BlockingIOError):
            return os.read(self._reads, _MOST_BYTES)
        return b""

    def wake(self, what: bytes) -> None:
        with self._lock, suppress(BlockingIOError):
            if self._open:
                os.write(self._writes, what)

    def close(self) -> None:
        """Only when nobody waits any more."""
        with self._lock:
            if self._open:
                self._open = False
                os.close(self._reads)
                os.close(self._writes)


def _fifo(path: Path) -> tuple[int, int]:
    """Both ends: with an own writing end the reading one never finds that all writers are gone. A pipe where the file system
    has no FIFOs: then nobody wakes it from outside."""
    try:
        path.unlink(missing_ok=True)  # of a process that died and had the same number
        os.mkfifo(path, 0o600)
    except OSError:
        return os.pipe()
    reads = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    return reads, os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)


Stamp: TypeAlias = tuple[int, int, int] | None


def stamp_of(path: Path | str | None) -> Stamp:
    """None where there is no such file, or no path."""
    try:
        status = os.stat(path) if path else None
    except OSError:
        return None
    return (status.st_ino, status.st_mtime_ns, status.st_size) if status and S_ISREG(status.st_mode) else None
