"""Leases on a file: which process hears an answer that is open, and whether that process is still there.

A process that is killed says nothing, and what it heard would be under way for ever. So each that keeps an open turn has an
empty file beside the store, and holds a lock on it; the system lets go of the lock with the process, however that ends. The
turn has the file's name. (A process number would not do: it is used again, and it is another one in a container.)

The file is made with the first open turn, so whoever only looks makes none. It goes with its process, or, if that was
killed, when the next one makes its own.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from clew.store.sqlite.connection import locked
from clew.store.sqlite.foreign import mapped

__all__ = ["FileLeases"]


class FileLeases:
    """Of one process on one store. Its name is asked for by one thread, and it is closed after that."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._name = ""
        self._descriptor = -1

    def name(self) -> str:
        """By which others find that it is there. Raises StoreError where no file can be made."""
        if not self._name:
            with locked(self._path), mapped(self._path):
                _clear(self._path)
                name = os.urandom(8).hex()
                self._descriptor = os.open(_file(self._path, name), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
                fcntl.flock(self._descriptor, fcntl.LOCK_EX)
                self._name = name
        return self._name

    def is_held(self, name: str) -> bool:
        return bool(name) and _is_held(_file(self._path, name))

    def close(self) -> None:
        if self._name:
            with suppress(OSError):
                _file(self._path, self._name).unlink()
            os.close(self._descriptor)
            self._name = ""


def _file(path: Path, name: str) -> Path:
    return path.with_name(f"{path.name}.open-{name}")


def _is_held(file: Path) -> bool:
    try:
        descriptor = os.open(file, os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _clear(path: Path) -> None:
    """What those left behind that were killed. Nobody else makes such a file meanwhile."""
    for file in path.parent.glob("*.open-*"):
        if file.name.startswith(f"{path.name}.open-") and not _is_held(file):
            with suppress(OSError):
                file.unlink()
