"""Begun: that the calls of an answer are being run, by which run of an agent, and in which process.

One row among the settings, by the thread's name and without any of its words: whoever takes an answer's calls writes it, in
the transaction that looks whether somebody else did. So of two, in one process or in several, exactly one is first. Who
comes later finds the row, or finds that the answer was gone on from since they last looked, where the row is gone again.
"""

from __future__ import annotations

from clew.store.begun import Beginning, Mark
from clew.store.sqlite.database import Database

__all__ = ["begin", "end", "leave", "mark_in"]

_NAME = "calls-begun:"
_VALUE = "SELECT value FROM settings WHERE scope = ? AND name = ?"
_SET = "INSERT OR REPLACE INTO settings VALUES (?, ?, ?, ?)"
_DROP = "DELETE FROM settings WHERE scope = ? AND name = ?"
_FOLLOWERS = """
SELECT count(*) FROM exchanges JOIN recordings ON recordings.principal = exchanges.principal AND recordings.id = recording
WHERE exchanges.principal = ? AND exchanges.thread = ? AND recordings.followed = ?
"""
_NOBODY = "-"


def mark_in(connection: Database, principal: str, thread: str) -> Mark:
    value = connection.execute(_VALUE, (principal, f"{_NAME}{thread}")).get
    turn, run, process = [*str(value or "").split(" "), "", ""][:3]
    return Mark(turn, run, process.removeprefix(_NOBODY))


def begin(connection: Database, wish: Beginning, process: str, at: float) -> bool:
    """False if somebody else was first. Without a process nobody can say how long it lasts."""
    if wish.followers is not None and _is_taken(connection, wish):
        return False
    connection.execute(_SET, (*_row(wish), " ".join((wish.turn, wish.run, process or _NOBODY)), at))
    return True


def leave(connection: Database, wish: Beginning, at: float) -> None:
    """The run goes no further, and what it began has no results."""
    if mark_in(connection, wish.principal, wish.thread)[:2] == (wish.turn, wish.run):
        begin(connection, wish._replace(followers=None), "", at)


def end(connection: Database, wish: Beginning) -> None:
    """There is nothing left that this run began, or found begun."""
    if wish.followers is None or mark_in(connection, wish.principal, wish.thread).run in (wish.run, wish.was):
        connection.execute(_DROP, _row(wish))


def _row(wish: Beginning) -> tuple[str, str]:
    """The scope and the name of its setting."""
    return wish.principal, f"{_NAME}{wish.thread}"


def _is_taken(connection: Database, wish: Beginning) -> bool:
    mark = mark_in(connection, wish.principal, wish.thread)
    if mark.turn == wish.turn and mark.run != wish.was:
        return True
    return connection.execute(_FOLLOWERS, (wish.principal, wish.thread, wish.turn)).get != wish.followers
