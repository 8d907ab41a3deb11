"""Where the sealing secret is kept: `CLEW_SECRET`, or a file that only its owner can read.

Several gateways may share one home, and the first seal of each must open in all of them. So whoever comes first makes the
file, under a lock and by a rename, and everybody else uses what the file then says. Rotation takes the same lock: two at
once must not lose a key, because clients hold seals that need it. Reading takes none, since a rename is atomic.

A file that others can read is refused and not repaired: the secret in it may have been read already.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from clew.errors import SettingsInvalid
from clew.thinking.seal import MIN_SECRET
from clew.thinking.secret import Keyring, file_of_ring, ring_of, ring_of_file, ring_of_text

__all__ = ["VARIABLE", "load_keyring", "rotate"]

VARIABLE = "CLEW_SECRET"
"""One secret of at least 32 characters, or several separated by commas: the first mints, all open. Empty is as unset."""


def load_keyring(path: Path, environ: Mapping[str, str] = os.environ) -> Keyring:
    """The keys from the environment, else from the file, which is made if it is not there."""
    if text := environ.get(VARIABLE, "").strip():
        return ring_of_text(text, name=VARIABLE)
    return _read(path) or _create(path)


def rotate(path: Path, environ: Mapping[str, str] = os.environ) -> Keyring:
    """A new current key; the old ones go on opening what they sealed."""
    if environ.get(VARIABLE, "").strip():
        raise SettingsInvalid(
            f"the secret comes from {VARIABLE}: put a new one in front of it, with a comma between",
            key=VARIABLE,
        )
    with _locked(path):
        ring = _read(path)
        return _write(path, ring.rotated(_fresh()) if ring else ring_of(_fresh()))


def _create(path: Path) -> Keyring:
    """Looks again under the lock: somebody else may have been first."""
    with _locked(path):
        return _read(path) or _write(path, ring_of(_fresh()))


def _fresh() -> bytes:
    return secrets.token_bytes(MIN_SECRET)


def _read(path: Path) -> Keyring | None:
    """The ring in the file; None if there is no file. Raises SettingsInvalid for one that is not private."""
    with _mapped(path):
        try:
            file = path.open("rb")
        except FileNotFoundError:
            return None
        with file:
            _check_private(path, os.fstat(file.fileno()).st_mode)
            _check_directory(path)
            raw = file.read()
    return ring_of_file(raw, file=str(path))


def _check_private(path: Path, mode: int) -> None:
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise SettingsInvalid(
            f"{path} can be used by others (mode {stat.S_IMODE(mode):04o}), so its secret may be known: "
            f"run `chmod 600 {path}`",
            file=str(path),
        )


def _check_directory(path: Path) -> None:
    if path.parent.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise SettingsInvalid(
            f"others can put files into {path.parent}, so the secret in it can be replaced: run `chmod 700 {path.parent}`",
            file=str(path),
        )


def _write(path: Path, ring: Keyring) -> Keyring:
    """All or nothing: a new file, private from its first byte, on disk before it takes the name."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    with _mapped(path):
        try:
            _write_new(fresh, file_of_ring(ring))
            fresh.replace(path)
        except BaseException:
            with suppress(FileNotFoundError):
                fresh.unlink()
            raise
        _sync_directory(path.parent)
    return ring


def _write_new(path: Path, raw: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "wb") as file:
        file.write(raw)
        file.flush()
        os.fsync(file.fileno())


def _sync_directory(path: Path) -> None:
    """Without this a power cut could take back the name, and with it every seal that was given out since."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _locked(path: Path) -> Generator[None]:
    """Held until the descriptor is closed, so a process that dies lets go. The lock file stays: removing it would race."""
    with _mapped(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_directory(path)
        descriptor = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _mapped(path: Path) -> Generator[None]:
    """Foreign exceptions become ours at this border."""
    try:
        yield
    except OSError as error:
        raise SettingsInvalid(f"cannot use the secret file {path}: {error.strerror or error}", file=str(path)) from error
