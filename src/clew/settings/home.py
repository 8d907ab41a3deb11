"""The home directory of clew, and the private files in it: the config, the store, the secrets, the registry of gateways.

`CLEW_HOME` is one directory for all of it. Without it, the directories that the platform has for configuration and for
data. What is made is made for its owner alone.

A private file is written whole or not at all, and locked while a process changes it. The lock is a file beside it, held
until its descriptor closes, so a process that dies releases it; it stays, since removing it would race. Reading takes no
lock: a rename is atomic.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from clew.errors import SettingsInvalid

HOME_VARIABLE: Final = "CLEW_HOME"
CONFIG_VARIABLE: Final = "CLEW_CONFIG"

USABLE_HOME: Final = f"Repair its rights, or set {HOME_VARIABLE} to a directory of your own"
"""What to do where the home cannot be used."""

_SOCKET_BYTES: Final = 103
"""The longest path that every system takes for a unix socket."""
_DIGEST_LENGTH: Final = 16
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
"""Some editors write it at the beginning of UTF-8."""


@dataclass(frozen=True, slots=True)
class Home:
    """The directory of one user's clew. `config_root` is given where the platform has a directory for configuration."""

    root: Path
    config_root: Path | None = None

    @property
    def config(self) -> Path:
        return (self.config_root or self.root) / "clew.toml"

    @property
    def secret(self) -> Path:
        """The file with the secret that seals are made with."""
        return self.root / "secret"

    @property
    def key(self) -> Path:
        """The file with the gateway's own key."""
        return self.root / "key"

    @property
    def keys(self) -> Path:
        """The named keys, hashed, where no store is switched on."""
        return self.root / "keys.json"

    @property
    def known_keys(self) -> Path:
        """The named keys, hashed, as a store said last."""
        return self.root / "keys-known.json"

    @property
    def sessions(self) -> Path:
        """The browsers that have logged in, hashed."""
        return self.root / "sessions.json"

    @property
    def run(self) -> Path:
        """One file for each gateway that runs, and their sockets."""
        return self.root / "run"

    def socket(self, name: str) -> Path:
        """The path of a unix socket. Raises SettingsInvalid where the directory's name is too long for one."""
        path = self.run / f"{name}.sock"
        if len(str(path).encode()) > _SOCKET_BYTES:
            raise SettingsInvalid(f"{path} is too long for a socket: set {HOME_VARIABLE} to a shorter directory")
        return path

    def make(self) -> Home:
        """The directories, private. Raises SettingsInvalid if they cannot be made, or if others may write there."""
        for directory in (self.root, self.run):
            try:
                directory.mkdir(mode=0o700, parents=True, exist_ok=True)
                status = directory.stat()
            except OSError as error:
                message = f"cannot make or use {directory}: {error.strerror or error}. {USABLE_HOME}"
                raise SettingsInvalid(message, file=str(directory)) from error
            check_owner(directory, status.st_uid)
            if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                message = f"others can put files into {directory}: run `chmod 700 {directory}`"
                raise SettingsInvalid(message, file=str(directory))
        return self


def home_of(environ: Mapping[str, str]) -> Home:
    """`CLEW_HOME`, or the platform's directories. Nothing is made yet."""
    if given := environ.get(HOME_VARIABLE, "").strip():
        return Home(Path(given).expanduser().absolute())
    user = Path(environ.get("HOME") or "~").expanduser()
    if sys.platform == "darwin":
        return Home(user / "Library" / "Application Support" / "clew")
    data = _directory(environ, "XDG_DATA_HOME", user / ".local" / "share")
    return Home(data / "clew", _directory(environ, "XDG_CONFIG_HOME", user / ".config") / "clew")


def _directory(environ: Mapping[str, str], variable: str, default: Path) -> Path:
    given = Path(environ.get(variable, ""))
    return given if given.is_absolute() else default  # a relative path means nothing there, by the platform's own rule


def check_owner(directory: Path, owner: int) -> None:
    """The owner of a directory can put files into it, whatever its mode says: keys, settings, a store. Raises
    SettingsInvalid, for root too."""
    if owner != os.geteuid():
        raise SettingsInvalid(
            f"{directory} belongs to another user (uid {owner}, you are uid {os.geteuid()}), who could put keys and "
            f"settings into it: run clew as that user, `chown -R {os.geteuid()} {directory}`, or set {HOME_VARIABLE} to a "
            "directory of your own",
            file=str(directory),
        )


def digest_of(raw: bytes) -> str:
    """A short hash of a file's content, by which processes can tell whether they have read the same."""
    return sha256(raw.removeprefix(_BYTE_ORDER_MARK)).hexdigest()[:_DIGEST_LENGTH]


def file_digest(path: Path) -> str:
    """ "" where there is no file, or where it cannot be read."""
    try:
        return digest_of(path.read_bytes())
    except OSError:
        return ""


def read_private(path: Path) -> bytes | None:
    """What a private file holds; None if there is none. Raises SettingsInvalid for a file that others can use."""
    with raising_settings_errors(path):
        try:
            file = path.open("rb")
        except FileNotFoundError:
            return None
        with file:
            mode = os.fstat(file.fileno()).st_mode
            if mode & (stat.S_IRWXG | stat.S_IRWXO):  # refused and not repaired: it may have been read already
                raise SettingsInvalid(
                    f"{path} can be used by others (mode {stat.S_IMODE(mode):04o}), so its secret may be known: "
                    f"run `chmod 600 {path}`",
                    file=str(path),
                )
            _check_directory(path)
            return file.read()


def write_private(path: Path, raw: bytes) -> None:
    """A new file, private from its first byte, on disk before it takes the name."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    with raising_settings_errors(path):
        try:
            with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(raw)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(path)
        except BaseException:
            with suppress(FileNotFoundError):
                fresh.unlink()
            raise
        directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:  # a power cut could take back the name, and with it a secret that others rely on since
            os.fsync(directory)
        finally:
            os.close(directory)


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
    with raising_settings_errors(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_directory(path)
        descriptor = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def raising_settings_errors(path: Path) -> Generator[None]:
    """Turn the exceptions of the file system into SettingsInvalid."""
    try:
        yield
    except OSError as error:
        raise SettingsInvalid(f"cannot use {path}: {error.strerror or error}", file=str(path)) from error
