"""The simulator as a running server."""

from __future__ import annotations

from clew.http.server import Server, listen
from clew.simulator.front import Front
from clew.simulator.interfaces import Judge
from clew.simulator.kinds import check_kind, speaks_chat
from clew.simulator.openai_chat.server import ChatServer
from clew.simulator.shell import Settings, Shell

__all__ = ["Simulation", "start"]


class Simulation:
    """A shell and its listener."""

    def __init__(self, shell: Front, server: Server) -> None:
        self.shell = shell
        self.server = server

    @property
    def url(self) -> str:
        return self.server.url

    async def close(self, grace: float = 1.0) -> None:
        """Finish what runs, end the rest, close the journal's file."""
        await self.server.close(grace)
        self.shell.journal.shut()


async def start(settings: Settings, judge: Judge, *, port: int = 0) -> Simulation:
    """Start on 127.0.0.1; port 0 takes a free one.

    Raises OSError if the port is taken, SettingsInvalid for a kind that there is not. `judge` is for
    the Anthropic dialect; the chat vendors have their own.
    """
    check_kind(settings.kind)
    shell = ChatServer(settings) if speaks_chat(settings.kind) else Shell(settings, judge)
    return Simulation(shell, await listen(shell.handle, port=port, refuse=shell.refuse))
