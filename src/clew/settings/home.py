"""Where clew keeps its things: the config, the store, the secrets and the registry of what runs.

`CLEW_HOME` is one directory for all of it. Without it, the places that the platform has for configuration and for data. What
is made is made for its owner alone.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from clew.errors import SettingsInvalid

__all__ = ["CONFIG_VARIABLE", "HOME_VARIABLE", "USABLE_HOME", "Home", "check_owner", "home_of"]

HOME_VARIABLE: Final = "CLEW_HOME"
CONFIG_VARIABLE: Final = "CLEW_CONFIG"

USABLE_HOME: Final = f"Repair its rights, or set {HOME_VARIABLE} to a directory of your own"
"""What to do where the home cannot be used."""

_SOCKET_BYTES: Final = 103
"""The longest path that every system takes for a unix socket."""


@dataclass(frozen=True, slots=True)
class Home:
    """The directory of one user's clew. `config_root` is another one only where the platform has it so."""

    root: Path
    config_root: Path | None = None

    @property
    def config(self) -> Path:
        return (self.config_root or self.root) / "clew.toml"

    @property
    def secret(self) -> Path:
        """The secret behind the seals."""
        return self.root / "secret"

    @property
    def key(self) -> Path:
        """The gateway's own key."""
        return self.root / "key"

    @property
    def keys(self) -> Path:
        """The named keys, hashed."""
        return self.root / "keys.json"

    @property
    def sessions(self) -> Path:
        """The browsers that were let in, hashed."""
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
            _make_private(directory)
        return self


def check_owner(directory: Path, owner: int) -> None:
    """Whoever owns a directory can put files into it, whatever its mode says: keys, settings, a store. Raises
    SettingsInvalid, for root too."""
    if owner != os.geteuid():
        raise SettingsInvalid(
            f"{directory} belongs to another user (uid {owner}, you are uid {os.geteuid()}), who could put keys and "
            f"settings into it: run clew as that user, `chown -R {os.geteuid()} {directory}`, or set {HOME_VARIABLE} to a "
            "directory of your own",
            file=str(directory),
        )


def home_of(environ: Mapping[str, str]) -> Home:
    """`CLEW_HOME`, or the platform's places. Nothing is made yet."""
    if given := environ.get(HOME_VARIABLE, "").strip():
        return Home(Path(given).expanduser().absolute())
    user = Path(environ.get("HOME") or "~").expanduser()
    if sys.platform == "darwin":
        return Home(user / "Library" / "Application Support" / "clew")
    data = _directory(environ, "XDG_DATA_HOME", user / ".local" / "share")
    return Home(data / "clew", _directory(environ, "XDG_CONFIG_HOME", user / ".config") / "clew")


def _directory(environ: Mapping[str, str], variable: str, default: Path) -> Path:
    """A relative path there means nothing, by the platform's own rule."""
    given = Path(environ.get(variable, ""))
    return given if given.is_absolute() else default


def _make_private(directory: Path) -> None:
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = directory.stat()
    except OSError as error:
        said = f"cannot make or use {directory}: {error.strerror or error}. {USABLE_HOME}"
        raise SettingsInvalid(said, file=str(directory)) from error
    check_owner(directory, status.st_uid)
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise SettingsInvalid(f"others can put files into {directory}: run `chmod 700 {directory}`", file=str(directory))
