"""Which processes live, and which agent run has the tool calls of an answer.

A process that is killed cannot say so, and the answers that it received would be under way forever. So each process that
keeps an open turn has an empty file beside the store, and holds a lock on it; the system releases the lock with the process,
however that ends. The turn has the file's name. (A process number would not do: it is used again, and it is another one in a
container.) The file is made with the first open turn, so a process that only reads makes none. It is deleted with its
process, or, if that was killed, when the next process makes its own.

That a run has the calls of an answer is one row among the settings, by the thread's name and without any of its text. It is
written in the transaction that checks whether another run has them. So of two runs, in one process or in several, exactly
one is first. A later run finds the row, or, where the row is deleted again, finds that the answer has new followers.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from clew.store.sqlite.database import Database, locked, raising_store_errors
from clew.store.values import CallOwner, RunClaim

_NAME = "calls-begun:"
_VALUE = "SELECT value FROM settings WHERE scope = ? AND name = ?"
_SET = "INSERT OR REPLACE INTO settings VALUES (?, ?, ?, ?)"
_DELETE = "DELETE FROM settings WHERE scope = ? AND name = ?"
_FOLLOWERS = """
SELECT count(*) FROM exchanges JOIN recordings ON recordings.principal = exchanges.principal AND recordings.id = recording
WHERE exchanges.principal = ? AND exchanges.thread = ? AND recordings.followed = ?
"""
_NO_PROCESS = "-"


class FileLeases:
    """The lease of one process on one store. Its name is asked for by one thread, and it is closed after that."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._name = ""
        self._descriptor = -1

    def name(self) -> str:
        """By which other processes find this one. Raises StoreError where no file can be made."""
        if not self._name:
            with locked(self._path), raising_store_errors(self._path):
                for file in self._path.parent.glob("*.open-*"):  # of killed processes; the lock keeps others from making one
                    if file.name.startswith(f"{self._path.name}.open-") and not _is_locked(file):
                        with suppress(OSError):
                            file.unlink()
                name = os.urandom(8).hex()
                self._descriptor = os.open(self._file(name), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
                fcntl.flock(self._descriptor, fcntl.LOCK_EX)
                self._name = name
        return self._name

    def is_held(self, name: str) -> bool:
        return bool(name) and _is_locked(self._file(name))

    def close(self) -> None:
        if self._name:
            with suppress(OSError):
                self._file(self._name).unlink()
            os.close(self._descriptor)
            self._name = ""

    def _file(self, name: str) -> Path:
        return self._path.with_name(f"{self._path.name}.open-{name}")


def _is_locked(file: Path) -> bool:
    try:
        descriptor = os.open(file, os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def call_owner(connection: Database, principal: str, thread: str) -> CallOwner:
    value = connection.execute(_VALUE, (principal, f"{_NAME}{thread}")).get
    turn, run, process = [*str(value or "").split(" "), "", ""][:3]
    return CallOwner(turn, run, process.removeprefix(_NO_PROCESS))


def claim_calls(connection: Database, claim: RunClaim, process: str, at: float) -> bool:
    """False if another run was first. Without a process it is not known how long the claim lasts."""
    if claim.followers is not None:
        owner = call_owner(connection, claim.principal, claim.thread)
        if owner.turn == claim.turn and owner.run != claim.was:
            return False
        if connection.execute(_FOLLOWERS, (claim.principal, claim.thread, claim.turn)).get != claim.followers:
            return False
    value = " ".join((claim.turn, claim.run, process or _NO_PROCESS))
    connection.execute(_SET, (claim.principal, f"{_NAME}{claim.thread}", value, at))
    return True


def abandon_calls(connection: Database, claim: RunClaim, at: float) -> None:
    """The run stopped, and its calls have no results."""
    if call_owner(connection, claim.principal, claim.thread)[:2] == (claim.turn, claim.run):
        claim_calls(connection, claim._replace(followers=None), "", at)


def finish_calls(connection: Database, claim: RunClaim) -> None:
    """Nothing is left of the calls that this run began, or found begun."""
    if claim.followers is None or call_owner(connection, claim.principal, claim.thread).run in (claim.run, claim.was):
        connection.execute(_DELETE, (claim.principal, f"{_NAME}{claim.thread}"))
