"""The simulator as a running server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from clew.http.server import Server, listen
from clew.simulator.anthropic.server import MessagesServer
from clew.simulator.interfaces import Judge
from clew.simulator.kinds import dialect_of
from clew.simulator.openai_chat.server import ChatServer
from clew.simulator.vendor_server import SimulatorSettings, VendorServer

_SERVERS: Final[dict[str, Callable[[SimulatorSettings, Judge], VendorServer]]] = {
    "anthropic": MessagesServer,
    "openai-chat": lambda settings, judge: ChatServer(settings),
}


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
