"""Who listens on a port that is in use: one of our gateways, another clew, or another program.

Linux says it in /proc, of processes whose files we may look at. Where nobody says it, it is unknown.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePath
from typing import Final
from urllib.parse import urlsplit

from clew.errors import SettingsInvalid
from clew.settings.home import Home
from clew.settings.running import Running, running

__all__ = ["gateway_on", "owner_of"]

_PROC: Final = Path("/proc")
_LISTENING: Final = "0A"
_FIRST_WORDS: Final = 3
"""Of a command line: the interpreter, `-m`, the program. The others are not looked at, for they may hold secrets."""


def owner_of(port: int, home: Home) -> str:
    """In words that fit behind "in use by"."""
    if gateway := gateway_on(port, home):
        return f"the gateway {gateway.name} (process {gateway.pid})"
    pid = min(_processes_on(port), default=None)
    if pid is None:
        return "another process, which the system does not name"
    return f"another clew (process {pid})" if _is_clew(pid) else f"{_name(pid)} (process {pid})"


def gateway_on(port: int, home: Home) -> Running | None:
    """The gateway of this home that has it, for clients or for its admin."""
    with suppress(SettingsInvalid):  # a home that others can write to: whoever starts there says so
        for gateway in running(home):
            if port in (_port(gateway.url), _port(gateway.admin_url)):
                return gateway
    return None


def _port(url: str) -> int | None:
    with suppress(ValueError):
        return urlsplit(url).port
    return None


def _processes_on(port: int) -> Iterator[int]:
    sockets = {f"socket:[{inode}]" for inode in _inodes_on(port)}
    if not sockets:
        return
    for file in _PROC.glob("[0-9]*/fd/*"):
        with suppress(OSError):  # it is over, or somebody else's
            if os.readlink(file) in sockets:
                yield int(file.parts[2])


def _inodes_on(port: int) -> Iterator[str]:
    for name in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in (_PROC / "net" / name).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                    yield fields[9]


def _is_clew(pid: int) -> bool:
    words = _read(pid, "cmdline").split("\0")[:_FIRST_WORDS]
    return any(PurePath(word).name == "clew" or word.startswith("clew.") for word in words)


def _name(pid: int) -> str:
    return _read(pid, "comm").strip() or "a program"


def _read(pid: int, name: str) -> str:
    try:
        return (_PROC / str(pid) / name).read_text(errors="replace")
    except OSError:
        return ""
