"""A plan: what a gateway was started with. Settings change while it runs; this does not.

It is a value that can be written down, because worker processes get theirs from their parent, by a pipe: nothing of it
stands on a command line.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from clew.errors import SettingsInvalid
from clew.gateway.border import WILDCARDS, is_loopback
from clew.settings.gateway_key import KEY_VARIABLE, named_keys
from clew.settings.home import Home
from clew.settings.load import Taken

__all__ = ["Plan", "check_exposure", "url_of"]

_PORTS: Final = 20


class Plan(Struct, frozen=True, kw_only=True):
    """Where to listen, under which name, with what."""

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
    run_key: str = ""
    """A key for this run alone."""
    taken: Taken | None = None
    """For a worker: the settings that its parent has. Its file may be broken by now."""
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


def url_of(host: str, port: int) -> str:
    """How a client on this machine calls a listener: one on every address has no name of its own."""
    name = "127.0.0.1" if host in WILDCARDS else f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}"


def check_exposure(plan: Plan, home: Home, environ: Mapping[str, str]) -> None:
    """Whoever lets others in must have said who. Raises SettingsInvalid."""
    if is_loopback(plan.host) or environ.get(KEY_VARIABLE, "").strip() or named_keys(home):
        return
    raise SettingsInvalid(
        f"{plan.host} can be reached by others, and no key was given out: set {KEY_VARIABLE}, or make a key for each "
        "of them with `clew keys add NAME`",
        key="gateway.host",
    )
