"""Small files that only their owner may read: written whole or not at all, and locked while somebody changes them.

The lock is a file beside, held until its descriptor closes, so a process that dies lets go; it stays, since removing it
would race. Reading takes none: a rename is atomic.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from clew.errors import SettingsInvalid
from clew.settings.home import check_owner

__all__ = ["locked", "mapped", "read_private", "write_private"]


def read_private(path: Path) -> bytes | None:
    """What the file holds; None if there is none. Raises SettingsInvalid for one that others can use."""
    with mapped(path):
        try:
            file = path.open("rb")
        except FileNotFoundError:
            return None
        with file:
            _check_private(path, os.fstat(file.fileno()).st_mode)
            _check_directory(path)
            return file.read()


def _check_private(path: Path, mode: int) -> None:
    """Refused and not repaired: what is in it may have been read already."""
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise SettingsInvalid(
            f"{path} can be used by others (mode {stat.S_IMODE(mode):04o}), so its secret may be known: "
            f"run `chmod 600 {path}`",
            file=str(path),
        )


def write_private(path: Path, raw: bytes) -> None:
    """A new file, private from its first byte, on disk before it takes the name."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    with mapped(path):
        try:
            _write_new(fresh, raw)
            fresh.replace(path)
            _sync_directory(path.parent)
        except BaseException:
            with suppress(FileNotFoundError):
                fresh.unlink()
            raise


def _write_new(path: Path, raw: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "wb") as file:
        file.write(raw)
        file.flush()
        os.fsync(file.fileno())


def _sync_directory(path: Path) -> None:
    """Without this a power cut could take back the name, and with it a secret that others rely on since."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _check_directory(path: Path) -> None:
    status = path.parent.stat()
    check_owner(path.parent, status.st_uid)
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise SettingsInvalid(
            f"others can put files into {path.parent}, so the secret in it can be replaced: run `chmod 700 {path.parent}`",
            file=str(path),
        )


@contextmanager
def locked(path: Path) -> Generator[None]:
    """While one process changes the file, the others wait. Makes its directory, private."""
    with mapped(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_directory(path)
        descriptor = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def mapped(path: Path) -> Generator[None]:
    """Foreign exceptions become ours at this border."""
    try:
        yield
    except OSError as error:
        raise SettingsInvalid(f"cannot use {path}: {error.strerror or error}", file=str(path)) from error
