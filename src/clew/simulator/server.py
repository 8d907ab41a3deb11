"""The kinds of simulator, and a simulator as a running server.

A dialect is a folder of one shape: `vendors` with a table of rows, `judge/`, `memory`, and a `server` with its model. A
new one is a folder, a line here for its rows, and a line for its server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Protocol

from clew.errors import SettingsInvalid
from clew.http.server import Server, listen
from clew.simulator.anthropic.server import MessagesServer
from clew.simulator.anthropic.vendors import vendors
from clew.simulator.interfaces import Judge
from clew.simulator.openai_chat.server import ChatServer
from clew.simulator.openai_chat.vendors import chat_vendors
from clew.simulator.vendor_server import SimulatorSettings, VendorServer


class KindRow(Protocol):
    """What the rows of all dialects have."""

    @property
    def about(self) -> str: ...


_SERVERS: Final[dict[str, Callable[[SimulatorSettings, Judge], VendorServer]]] = {
    "anthropic": MessagesServer,
    "openai-chat": lambda settings, judge: ChatServer(settings),
}
_ROWS: Final[dict[str, Callable[[], Mapping[str, KindRow]]]] = {"anthropic": vendors, "openai-chat": chat_vendors}


def kinds() -> dict[str, str]:
    """Each kind and what it is, in a line, by dialect."""
    return {name: row.about for rows in _ROWS.values() for name, row in rows().items()}


def dialect_of(kind: str) -> str:
    """The dialect that this kind speaks. Raises SettingsInvalid for an unknown kind."""
    check_kind(kind)
    return next(dialect for dialect, rows in _ROWS.items() if kind in rows())


def speaks_chat(kind: str) -> bool:
    """Whether the kind speaks Chat Completions."""
    return kind in chat_vendors()


def check_kind(kind: str) -> None:
    """Raises SettingsInvalid for an unknown kind; its message lists all kinds."""
    if kind not in kinds():
        raise SettingsInvalid(f"there is no kind {kind!r}; there are {', '.join(kinds())}", key="kind")


class Simulation:
    """A simulated vendor and its listener."""

    def __init__(self, vendor: VendorServer, server: Server) -> None:
        self.vendor = vendor
        self.server = server

    @property
    def url(self) -> str:
        return self.server.url

    async def close(self, grace: float = 1.0) -> None:
        """Let running requests finish for `grace` seconds, then close the connections and the journal's file."""
        await self.server.close(grace)
        self.vendor.journal.close_file()


async def start(settings: SimulatorSettings, judge: Judge, *, port: int = 0) -> Simulation:
    """Start on 127.0.0.1; port 0 takes a free one.

    Raises OSError if the port is taken, SettingsInvalid for an unknown kind. `judge` is for the Messages API; the other
    dialects have their own.
    """
    vendor = _SERVERS[dialect_of(settings.kind)](settings, judge)
    return Simulation(vendor, await listen(vendor.handle, port=port, refuse=vendor.refuse))
