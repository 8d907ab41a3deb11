"""The engine: answers calls. Gateway and library are shells on it."""

from __future__ import annotations

from clew.engine.call import Call
from clew.engine.exchange import LiveExchange
from clew.engine.parts import Parts
from clew.http.responder import Responder

__all__ = ["Engine"]


class Engine:
    """One for a process. What its exchanges share is in `parts`."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.running = 0
        """Exchanges under way."""

    async def answer(self, call: Call, client: Responder) -> None:
        """Answer one call, to its end. Raises ClewError only before anything was said to the client."""
        self.running += 1
        try:
            await LiveExchange(self.parts, call, client).run()
        finally:
            self.running -= 1
