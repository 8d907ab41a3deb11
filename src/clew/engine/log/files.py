"""LogFile: a file for the log that begins again when it is full, and keeps some of the older ones.

`clew.log` is the newest, `clew.log.1` the one before it, and so on. Several processes may write to one file: the one that
finds it full renames it under a lock, and the others notice that the file at this path is another one, and open that. So a
tool that moves the file away (logrotate) needs no signal either.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from clew.errors import SettingsInvalid
from clew.settings.values import LogSettings

_MEGABYTE = 1_000_000


class LogOutput(Protocol):
    """What the log writes to: a text stream, or a `LogFile`."""

    def write(self, text: str, /) -> int: ...
    def flush(self) -> None: ...
    def close(self) -> None: ...
    def isatty(self) -> bool: ...
    def fileno(self) -> int: ...


class LogFile:
    """`most` bytes, and then a new file; `older` of them are kept. What is written at once stays in one file."""

    def __init__(self, path: Path, *, most: int, older: int) -> None:
        """Raises OSError."""
        self.path = path
        self._most = most
        self._older = older
        self._descriptor = self._open()

    def write(self, text: str) -> int:
        raw = text.encode("utf-8", "backslashreplace")
        if not self._is_current():
            self._reopen()
        if 0 < os.fstat(self._descriptor).st_size > self._most - len(raw):
            self._rotate()
        left = memoryview(raw)
        while left:
            left = left[os.write(self._descriptor, left) :]
        return len(text)

    def flush(self) -> None:
        """Nothing waits here."""

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        """There is none to keep: the file is another one when it is full."""
        raise OSError("a log file has no lasting descriptor")

    def _open(self) -> int:
        return os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def _reopen(self) -> None:
        self.close()
        self._descriptor = self._open()

    def _is_current(self) -> bool:
        """Whether the open file is still the one at its path."""
        if self._descriptor < 0:
            return False
        try:
            return os.path.samestat(os.fstat(self._descriptor), self.path.stat())
        except FileNotFoundError:
            return False

    def _rotate(self) -> None:
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)  # until it is closed
        if self._is_current():  # else another process was faster
            for number in range(self._older, 0, -1):
                with suppress(FileNotFoundError):
                    self._numbered(number - 1).replace(self._numbered(number))
            if not self._older:
                self.path.unlink()
        self._reopen()

    def _numbered(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}") if number else self.path


def open_log_file(wanted: LogSettings, home: Path, usual: str = "") -> LogFile | None:
    """The file that the settings name, seen from the home directory, or the usual one; None for neither. Raises
    SettingsInvalid."""
    name = wanted.file or usual
    if not name:
        return None
    path = home / Path(name).expanduser()
    try:
        return LogFile(path, most=wanted.file_megabytes * _MEGABYTE, older=wanted.older_files)
    except OSError as error:
        says = f"the log cannot be written to {path}: {error.strerror or error}. Name another file in `[log] file`"
        raise SettingsInvalid(says, key="log.file") from error
