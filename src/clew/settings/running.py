"""Which gateways run: one private file each, in the home's `run` directory.

A gateway that died without a word leaves its file behind; whoever reads the registry sees that there is no such process any
more and removes it. A process number can be used again, so the moment at which the process began is kept beside it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from clew.errors import SettingsInvalid
from clew.settings.home import CONFIG_VARIABLE, Home
from clew.settings.private_file import mapped, write_private

__all__ = ["Running", "born_of", "file_in_use", "is_alive", "register", "running", "unregister"]

_SUFFIX: Final = ".json"
_OVER: Final = (b"Z", b"X")
"""States of a process that has ended, while its parent has not asked how."""


class Running(Struct, frozen=True, kw_only=True):
    """A gateway, and how to reach it."""

    pid: int
    url: str
    """Where clients go."""
    admin_url: str = ""
    socket: str = ""
    """The admin's unix socket."""
    started: float = 0.0
    """Seconds since the epoch."""
    name: str = ""
    """As `--gateway` says it; the process number if nothing else was given."""
    choice: str = ""
    """The backend that it was told to begin with, for itself alone."""
    config: str = ""
    """Its settings file; "" if it has none."""
    born: str = ""
    """When the system says that the process began; filled in by `register`."""


def register(home: Home, gateway: Running) -> Running:
    """Enter it. Its name is its number unless it has one; a gateway that died is replaced by one of the same name."""
    entered = msgspec.structs.replace(gateway, name=gateway.name or str(gateway.pid), born=born_of(gateway.pid))
    home.make()
    write_private(_path(home, entered.name), msgspec.json.encode(entered))
    return entered


def unregister(home: Home, gateway: Running) -> None:
    """Take it out; it may be gone already."""
    with suppress(OSError):
        _path(home, gateway.name or str(gateway.pid)).unlink()


def running(home: Home) -> list[Running]:
    """All that live, the oldest first. Files of the dead are removed, as are those that say nothing."""
    with mapped(home.run):
        paths = sorted(home.run.glob(f"*{_SUFFIX}")) if home.run.is_dir() else []
    found = [(path, _read(path)) for path in paths]
    for path, gateway in found:
        if gateway is None or not is_alive(gateway.pid, gateway.born):
            _clear(path, gateway)
    alive = [gateway for _, gateway in found if gateway is not None and is_alive(gateway.pid, gateway.born)]
    return sorted(alive, key=lambda gateway: (gateway.started, gateway.pid))


def file_in_use(home: Home, environ: Mapping[str, str]) -> Path | None:
    """The settings file of the gateways that run here, if they all have one and nobody named another: it is the one that is
    meant."""
    if environ.get(CONFIG_VARIABLE, "").strip():
        return None
    try:
        files = {gateway.config for gateway in running(home)}
    except SettingsInvalid:  # whoever reads the settings there says what is wrong
        return None
    return Path(*files) if len(files) == 1 and all(files) else None


def _path(home: Home, name: str) -> Path:
    return home.run / f"{name}{_SUFFIX}"


def _read(path: Path) -> Running | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Running)
    except (OSError, ValueError):
        return None


def _clear(path: Path, gateway: Running | None) -> None:
    for each in (path, Path(gateway.socket) if gateway and gateway.socket else path):
        with suppress(OSError):
            each.unlink()


def is_alive(pid: int, born: str) -> bool:
    """Whether the process of this number runs, and is the one that began then."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return not born or born_of(pid) == born


def born_of(pid: int) -> str:
    """The process's start in the kernel's own ticks; "" where the system does not say, or where only its name is left."""
    try:
        raw = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return ""
    fields = raw.rpartition(b")")[2].split()
    return "" if fields[0] in _OVER else fields[19].decode()
