"""Telling: what is over is told to the log, to the metrics and to whoever watches, many at once.

Nobody waits for it, and what is told of one exchange takes a dozen steps in as many places. So an exchange that went as most
do is only noted, and told a moment later, together with those before and behind it that went as it did (`over`); whatever is
told at once is told after those that were noted before it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from clew.engine.over import Alike, Over, alike
from clew.model.recording import Recording
from clew.store.values import Exchange

__all__ = ["MOST", "SECONDS", "Telling"]

SECONDS: Final = 0.05
MOST: Final = 256
"""Exchanges that may wait to be told."""

_log = logging.getLogger("clew.engine")

_Written: TypeAlias = tuple[Exchange, Recording | None]


class Telling:
    """`tell` is called with one, `tell_alike` with those that follow each other and went alike, in the order in which they
    were noted. Without `tell_alike`, each is told alone."""

    def __init__(
        self,
        tell: Callable[[Exchange, Recording | None], None],
        tell_alike: Callable[[Alike], None] | None = None,
    ) -> None:
        self._tell = tell
        self._tell_alike = tell_alike or self._tell_each
        self._notes: list[Over | _Written] = []

    def note(self, over: Over | _Written) -> None:
        """Remember an exchange that is over; it is told within a moment, together with others."""
        notes = self._notes
        notes.append(over)
        count = len(notes)
        if count == 1:
            asyncio.get_running_loop().call_later(SECONDS, self.tell_all)
        elif count >= MOST:
            self.tell_all()

    def tell_all(self) -> None:
        """What was noted until now. One that cannot be told keeps no other from it."""
        notes, self._notes = self._notes, []
        for row in _rows(notes):
            try:
                if isinstance(row, list):
                    self._tell_alike(alike(row[0].like, row))
                else:
                    self._tell(*row)
            except Exception:
                _log.exception("an exchange could not be told")

    def _tell_each(self, row: Alike) -> None:
        for over in row.overs:
            try:
                self._tell(over.exchange(), None)
            except Exception:
                _log.exception("an exchange could not be told")


def _rows(notes: Sequence[Over | _Written]) -> list[list[Over] | _Written]:
    """Those that follow each other and went alike together, in their order."""
    rows: list[list[Over] | _Written] = []
    like: Exchange | None = None
    row: list[Over] = []
    for note in notes:
        if isinstance(note, tuple):
            rows.append(note)
            like = None
        elif note.like == like:
            row.append(note)
        else:
            like, row = note.like, [note]
            rows.append(row)
    return rows
