"""Turns that the database does not take in time go to the spool, and from there to the database when it is back.

Every turn is followed. If its commit fails, or has no reply after 200 ms, the turn is written to the spool, and counts as
recorded on this machine. If the database has it after all, the file is removed. When the database is back, what waits is
sent in the order of the turns; a turn is known by its exchange, so none is kept twice. A turn of a thread that has turns in
the spool is kept behind them, so that the database gets each conversation in its order.

Nothing here waits for the database: a request whose turn is spooled is answered in time also while others are sent.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter, deque
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
from clew.store.spool import UNREADABLE, Spool, SpooledTurn

_log = logging.getLogger("clew.store")

LIMIT: Final = 0.2
"""Seconds without a reply to a commit."""
EVERY: Final = 1.0
"""Seconds between two tries to send what waits."""
TOGETHER: Final = 32
"""Turns that are sent together at most."""


class _Followed:
    """A turn on its way to the database."""

    __slots__ = ("_ends", "due", "kept", "readable", "turn")

    def __init__(self, turn: TurnRecord, readable: bool) -> None:
        self.turn = turn
        self.readable = readable
        self.due = monotonic() + LIMIT
        self.kept = KeptTurn()
        self._ends = threading.Lock()

    def end(self, result: bool | StoreError, *, waits: bool = False) -> bool:
        """Complete the future of the turn. False if it was complete: the database's reply may come in another thread, at any
        moment."""
        with self._ends:
            if self.kept.done():
                return False
            self.kept.waits = waits
            if isinstance(result, bool):
                self.kept.set_result(result)
            else:
                self.kept.set_exception(result)
            return True


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
        self._followed: deque[_Followed] = deque()
        self._changed = threading.Condition()
        self._closing = False
        self.is_away = False
        """Whether the database did not take a turn in time, and has not all of them since."""
        self._ships_at = 0.0
        self._sent: list[tuple[Path, Future[bool]]] = []
        """What was sent from the spool, and what becomes of it."""
        self._threads: Counter[tuple[str, str]] = Counter()
        """How many turns of a thread are on this machine alone, by principal and thread."""
        self.remember_waiting(counted=True)
        self.local = len(spool.waiting())
        """How many turns are on this machine alone."""
        self._thread = threading.Thread(target=self._work, name="clew store spool", daemon=True)
        self._thread.start()

    def remember_waiting(self, *, counted: bool = False) -> None:
        """Have the turns found that are in the spool."""
        for path in self._spool.waiting():
            with suppress(RecordCorrupt, OSError):
                turn = self._spool.read(path).turn
                if counted:
                    self._threads[_thread(turn)] += 1
                if turn.recording:
                    self._remember(turn.recording)

    def holds(self, turn: TurnRecord) -> bool:
        """Whether turns of its thread wait here: then the database must get them first."""
        return self.local > 0 and self._threads[_thread(turn)] > 0

    def keep(self, turn: TurnRecord, *, readable: bool) -> Future[bool]:
        """Add a turn to the spool. The future is complete when the spool has it."""
        followed = _Followed(turn, readable)
        followed.due = 0.0
        self._add(followed)
        return followed.kept

    def follow(self, recorded: Future[bool], turn: TurnRecord, *, readable: bool) -> Future[bool]:
        """Ends when the database has the turn, or else the spool."""
        followed = _Followed(turn, readable)
        self._add(followed)

        def note(done: Future[bool]) -> None:
            if done.exception() is None and followed.end(done.result()):
                return
            with self._changed:
                followed.due = 0.0  # it failed, or the spool has it needlessly
                self._changed.notify()

        recorded.add_done_callback(note)
        return followed.kept

    def _add(self, followed: _Followed) -> None:
        with self._changed:
            self._followed.append(followed)
            if len(self._followed) == 1 or not followed.due:
                self._changed.notify()

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
            if self._has_replies():
                self._take_replies()
            if closing:
                return
            if self.local and not self._sent and monotonic() >= self._ships_at:
                self._send_waiting()

    def _seconds_left(self) -> float:
        if self._has_replies():
            return 0.0
        turns = min((each.due for each in self._followed), default=monotonic() + 3600)
        sending = self._ships_at if self.local and not self._sent else monotonic() + 3600
        return min(turns, sending) - monotonic()

    @property
    def sends(self) -> bool:
        """Whether turns from the spool are under way to the database."""
        return bool(self._sent)

    def _has_replies(self) -> bool:
        return self.sends and all(reply.done() for _, reply in self._sent)

    def _settle(self, followed: _Followed) -> None:
        if followed.kept.done():
            return
        try:
            path = self._spool.keep(followed.turn, readable=followed.readable)
        except OSError as error:
            followed.end(StoreError(f"neither the database nor {error.filename} could keep it: {error}"))
            return
        self.local += 1
        self._threads[_thread(followed.turn)] += 1
        if not followed.end(True, waits=True):
            return  # the database has it after all; its file goes with the next ones
        if not self.is_away:
            self.is_away = True
            _log.warning("the database does not answer; turns are kept in %s until it is back", path.parent)

    def _send_waiting(self) -> None:
        """Send the oldest of what waits. The writer keeps them in this order."""
        for path in self._spool.waiting()[:TOGETHER]:
            try:
                self._sent.append((path, self._ship(self._spool.read(path))))
            except RecordCorrupt as error:
                _log.warning("a turn in the spool cannot be read, and is set aside: %s", error)
                path.rename(path.with_suffix(UNREADABLE))
                self.local = max(0, self.local - 1)
            except OSError:
                break
        self._ships_at = monotonic() + EVERY
        for _, reply in self._sent:
            reply.add_done_callback(self._wake)

    def _take_replies(self) -> None:
        """Remove what the database has now. If it took nothing, it is asked again in a moment."""
        sent, self._sent = self._sent, []
        taken = [path for path, reply in sent if reply.exception() is None]
        for path in taken:
            with suppress(RecordCorrupt, OSError):
                self._threads -= Counter([_thread(self._spool.read(path).turn)])
            self._spool.drop(path)
        self.local = max(0, self.local - len(taken))
        self._ships_at = 0.0 if len(taken) == len(sent) else monotonic() + EVERY
        if self.is_away and not self.local:
            self.is_away = False
            _log.warning("the database is back, and has all turns that were kept on this machine")

    def _wake(self, _: Future[bool]) -> None:
        with self._changed:
            self._changed.notify()


def _thread(turn: TurnRecord) -> tuple[str, str]:
    return turn.exchange.principal, turn.exchange.thread
