"""A plan: how a gateway was started, and where it listens. Settings change while it runs; the plan does not.

It is a value that can be written down, because worker processes get it from their parent by a pipe: nothing of it is on a
command line.
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePath
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from clew.errors import SettingsInvalid
from clew.http.server import bound
from clew.settings.home import Home
from clew.settings.load import SettingsText
from clew.settings.named_keys import known_keys
from clew.settings.own_keys import KEY_VARIABLE
from clew.settings.processes import RegisteredGateway, registered_gateways

WILDCARDS: Final = ("0.0.0.0", "::", "")  # noqa: S104  (named so that they are not taken for a name of ours)
_PORTS: Final = 20
_BACKLOG: Final = 1024
_PROC: Final = Path("/proc")
_LISTENING: Final = "0A"
_FIRST_WORDS: Final = 3
"""Of a command line: the interpreter, `-m`, the program. The others are not looked at, because they may hold secrets."""


class Plan(Struct, frozen=True, kw_only=True):
    """How a gateway is started: host, ports, name and settings."""

    name: str
    """Of this gateway, as `clew use --gateway` says it; its workers have it too."""
    host: str = "127.0.0.1"
    port: int = 2539
    admin_port: int = 2540
    port_is_asked_for: bool = False
    """Then no other will do."""
    named_file: str = ""
    """The settings file, if one was named."""
    choice: str = ""
    """The backend that this gateway begins with, whatever is active elsewhere."""
    model: str = ""
    """The model that this backend is asked for, whatever clients name."""
    run_key: str = ""
    """A key for this run alone."""
    taken: SettingsText | None = None
    """For a worker: the settings that its parent has. The file may be broken by now."""
    workers: int = 1
    """Processes that share the port, and this machine."""

    @property
    def file(self) -> Path | None:
        return Path(self.named_file) if self.named_file else None

    def ports(self) -> tuple[int, ...]:
        """Where to try to listen, in order: a busy port gives the next (S1-51)."""
        if self.port_is_asked_for or self.port == 0:
            return (self.port,)
        return tuple(port for port in range(self.port, self.port + _PORTS) if port != self.admin_port and port < 65536)


def is_loopback(host: str) -> bool:
    """Is this address to listen on one that only this machine can reach?"""
    return host in ("localhost", "::1") or host.startswith("127.")


def url_of(host: str, port: int) -> str:
    """How a client on this machine calls a listener. A listener on every address is called by 127.0.0.1."""
    name = "127.0.0.1" if host in WILDCARDS else f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}"


def check_exposure(plan: Plan, home: Home, environ: Mapping[str, str]) -> None:
    """Raises SettingsInvalid for a gateway that others can reach, unless a key was set or given out."""
    if is_loopback(plan.host) or environ.get(KEY_VARIABLE, "").strip() or known_keys(home):
        return
    raise SettingsInvalid(
        f"other machines can reach {plan.host}, and no key exists for them: set {KEY_VARIABLE}, or make one key for each "
        "user with `clew keys add NAME`",
        key="gateway.host",
    )


def claim_port(
    plan: Plan, *, reuse_port: bool = False, bound_to: Callable[[int], object] = lambda port: None
) -> socket.socket:
    """A socket at the first port of the plan that is free. Raises OSError if none is. `bound_to` is called with the port
    before any client can connect to it.

    A port for `reuse_port` must be free as well: it is shared with this gateway's own workers, not with other programs.
    """
    ports = plan.ports()
    for port in ports:
        try:
            listener = _listen(plan.host, port, bound_to)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or port == ports[-1]:
                raise
            continue
        if not reuse_port:
            return listener
        port = listener.getsockname()[1]
        listener.close()
        return bound(plan.host, port, reuse_port=True)
    raise AssertionError("a plan has a port")


def _listen(host: str, port: int, bound_to: Callable[[int], object]) -> socket.socket:
    """It listens already: two processes that begin at once may both bind a port, and only one of them can listen on it."""
    listener = bound(host, port)
    try:
        bound_to(listener.getsockname()[1])
        listener.listen(_BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


# Who has a port that is in use. Linux says it in /proc, about processes whose files this one may read.


def owner_of(port: int, home: Home) -> str:
    """The program that listens on this port, in words that fit behind "in use by"."""
    if gateway := gateway_on(port, home):
        return f"the gateway {gateway.name} (process {gateway.pid})"
    pid = min(_processes_on(port), default=None)
    if pid is None:
        return "another process, which the system does not name"
    words = _read_proc(pid, "cmdline").split("\0")[:_FIRST_WORDS]
    if any(PurePath(word).name == "clew" or word.startswith("clew.") for word in words):
        return f"another clew (process {pid})"
    return f"{_read_proc(pid, 'comm').strip() or 'a program'} (process {pid})"


def gateway_on(port: int, home: Home) -> RegisteredGateway | None:
    """The gateway of this home that has the port, for clients or for its admin."""
    with suppress(SettingsInvalid):  # a home that others can write to: a gateway that starts there says so
        for gateway in registered_gateways(home):
            for url in (gateway.url, gateway.admin_url):
                with suppress(ValueError):
                    if urlsplit(url).port == port:
                        return gateway
    return None


def _processes_on(port: int) -> Iterator[int]:
    sockets: set[str] = set()
    for name in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in (_PROC / "net" / name).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                    sockets.add(f"socket:[{fields[9]}]")
    for file in _PROC.glob("[0-9]*/fd/*") if sockets else ():
        with suppress(OSError):  # the process is over, or another user's
            if os.readlink(file) in sockets:
                yield int(file.parts[2])


def _read_proc(pid: int, name: str) -> str:
    try:
        return (_PROC / str(pid) / name).read_text(errors="replace")
    except OSError:
        return ""
