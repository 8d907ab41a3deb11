"""Turns that the database does not take in time go to the spool, and from there to the database when it is back.

Every turn is followed. If its commit fails, or has no reply after 200 ms, the turn is written to the spool, and counts as
recorded on this machine. If the database has it after all, the file is removed. When the database is back, what waits is
sent in the order of the turns; a turn is known by its exchange, so none is kept twice.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Final

from clew.errors import RecordCorrupt, StoreError
from clew.model.recording import Recording
from clew.model.turn import TurnRecord
from clew.store.commits import KeptTurn
from clew.store.spool import Spool, SpooledTurn

_log = logging.getLogger("clew.store")

LIMIT: Final = 0.2
"""Seconds without a reply to a commit."""
EVERY: Final = 1.0
"""Seconds between two tries to send what waits."""


class _Followed:
    """A turn on its way to the database."""

    __slots__ = ("due", "is_over", "kept", "path", "readable", "turn")

    def __init__(self, turn: TurnRecord, readable: bool) -> None:
        self.turn = turn
        self.readable = readable
        self.due = monotonic() + LIMIT
        self.is_over = False
        """The database has it, or refused it."""
        self.kept = KeptTurn()
        self.path: Path | None = None


class SpoolWriter:
    """Follows the turns of one store, in a thread of its own."""

    def __init__(
        self, spool: Spool, ship: Callable[[SpooledTurn], Future[bool]], remember: Callable[[Recording], None]
    ) -> None:
        """`ship` sends a turn to the database. `remember` is called with each recording that an earlier process left: it has
        to be found though the database does not have it."""
        self._spool = spool
        self._ship = ship
        self._remember = remember
        self.remember_waiting()
        self._followed: deque[_Followed] = deque()
        self._changed = threading.Condition()
        self._closing = False
        self._is_away = False
        self._ships_at = 0.0
        self.local = len(spool.waiting())
        """How many turns are on this machine alone."""
        self._thread = threading.Thread(target=self._work, name="clew store spool", daemon=True)
        self._thread.start()

    def remember_waiting(self) -> None:
        """Have the turns found that are in the spool."""
        for path in self._spool.waiting():
            with suppress(RecordCorrupt, OSError):
                if recording := self._spool.read(path).turn.recording:
                    self._remember(recording)

    def follow(self, recorded: Future[bool], turn: TurnRecord, *, readable: bool) -> Future[bool]:
        """Ends when the database has the turn, or else the spool."""
        followed = _Followed(turn, readable)
        with self._changed:
            self._followed.append(followed)
            if len(self._followed) == 1:
                self._changed.notify()

        def note(done: Future[bool]) -> None:
            followed.is_over = done.exception() is None
            if followed.is_over and not followed.kept.done():
                followed.kept.set_result(done.result())
                return
            with self._changed:
                followed.due = 0.0  # it failed, or the spool has it needlessly
                self._changed.notify()

        recorded.add_done_callback(note)
        return followed.kept

    def close(self) -> None:
        """What is not in the database by now goes to the spool."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()

    def _work(self) -> None:
        while True:
            with self._changed:
                wait = self._seconds_left()
                if wait > 0 and not self._closing:
                    self._changed.wait(wait)
                due = [each for each in self._followed if self._closing or each.due <= monotonic() or each.kept.done()]
                for each in due:
                    self._followed.remove(each)
                closing = self._closing
            for each in due:
                self._settle(each)
            if closing:
                return
            if self.local and monotonic() >= self._ships_at:
                self._ship_waiting()
                self._ships_at = monotonic() + EVERY

    def _seconds_left(self) -> float:
        turns = min((each.due for each in self._followed), default=monotonic() + 3600)
        shipping = self._ships_at if self.local else monotonic() + 3600
        return min(turns, shipping) - monotonic()

    def _settle(self, followed: _Followed) -> None:
        if followed.is_over or followed.kept.done():
            if not followed.kept.done():
                followed.kept.set_result(True)
            return
        try:
            followed.path = self._spool.keep(followed.turn, readable=followed.readable)
        except OSError as error:
            followed.kept.set_exception(StoreError(f"neither the database nor {error.filename} could keep it: {error}"))
            return
        self.local += 1
        followed.kept.waits = True
        followed.kept.set_result(True)
        if not self._is_away:
            self._is_away = True
            _log.warning("the database does not answer; turns are kept in %s until it is back", followed.path.parent)

    def _ship_waiting(self) -> None:
        """Send what waits, oldest first, until one is not taken."""
        for path in self._spool.waiting():
            try:
                self._ship(self._spool.read(path)).result()
            except RecordCorrupt as error:
                _log.warning("a turn in the spool cannot be read, and is set aside: %s", error)
                path.rename(path.with_suffix(".unreadable"))
            except (StoreError, OSError):
                return
            else:
                self._spool.drop(path)
            self.local = max(0, self.local - 1)
        if self._is_away and not self.local:
            self._is_away = False
            _log.warning("the database is back, and has all turns that were kept on this machine")
