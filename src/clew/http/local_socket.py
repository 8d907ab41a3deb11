"""A unix socket that only its owner can open, and its place in the file system.

The mode is set between bind and listen: until a socket listens nobody can connect to it, so there is no moment in which
others could. A file that a dead process left behind is taken over, one that somebody answers on is not.
"""

from __future__ import annotations

import errno
import os
import socket
import stat
from contextlib import suppress
from pathlib import Path

__all__ = ["LocalSocket"]

_OWNER_ONLY = 0o600


class LocalSocket:
    """A listening place at `path`."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._file: tuple[int, int] | None = None

    def bind(self) -> socket.socket:
        """The socket, not yet listening. Raises OSError if somebody is there, or where it cannot be."""
        if _is_answered(self.path):
            raise OSError(errno.EADDRINUSE, f"another process listens on {self.path}")
        with suppress(FileNotFoundError):
            if stat.S_ISSOCK(os.lstat(self.path).st_mode):
                os.unlink(self.path)
        plug = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            plug.bind(self.path)
            os.chmod(self.path, _OWNER_ONLY)
        except OSError:
            plug.close()
            raise
        self._file = _identity(self.path)
        return plug

    def remove(self) -> None:
        """Take the file away, if it is still ours."""
        if self._file is not None and _identity(self.path) == self._file:
            Path(self.path).unlink(missing_ok=True)
        self._file = None


def _is_answered(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(path)
        except OSError:
            return False
        return True


def _identity(path: str) -> tuple[int, int] | None:
    with suppress(OSError):
        found = os.lstat(path)
        return found.st_dev, found.st_ino
    return None
