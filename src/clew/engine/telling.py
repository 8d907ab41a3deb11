"""Telling: what is over is told to the log, to the metrics and to whoever watches, many at once.

Nobody waits for it, and what is told of one exchange takes a dozen steps in as many places: done for one after the other,
they are done in a third of the time. So an exchange that went as most do is only noted, and told a moment later; whatever is
told at once is told after those that were noted before it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final, Protocol, TypeAlias

from clew.model.recording import Recording
from clew.store.values import Exchange

__all__ = ["MOST", "SECONDS", "Telling", "Unwritten"]

SECONDS: Final = 0.05
MOST: Final = 256
"""Exchanges that may wait to be told."""

_log = logging.getLogger("clew.engine")


class Unwritten(Protocol):
    """An exchange that is over, and not yet written down."""

    def exchange(self) -> Exchange: ...


_Note: TypeAlias = tuple[Unwritten | Exchange, Recording | None]


class Telling:
    """`tell` is called with each, in the order in which they were noted."""

    def __init__(self, tell: Callable[[Exchange, Recording | None], None]) -> None:
        self._tell = tell
        self._notes: list[_Note] = []

    def note(self, over: Unwritten | Exchange, recording: Recording | None = None) -> None:
        """To be told soon."""
        notes = self._notes
        notes.append((over, recording))
        if len(notes) == 1:
            asyncio.get_running_loop().call_later(SECONDS, self.tell_all)
        elif len(notes) >= MOST:
            self.tell_all()

    def tell_all(self) -> None:
        """What was noted until now. One that cannot be told keeps no other from it."""
        notes, self._notes = self._notes, []
        for over, recording in notes:
            try:
                self._tell(over if isinstance(over, Exchange) else over.exchange(), recording)
            except Exception:
                _log.exception("an exchange could not be told")
