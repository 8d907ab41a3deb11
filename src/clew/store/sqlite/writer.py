"""The one writer of a process: a thread, a queue, and a future for each command.

Whatever waits is committed together: under load a commit costs one sync for many turns. Each command of several has a
savepoint of its own, so that a failing command does not affect the others. Futures end after the commit, and only then is a
checkpoint made; but the future of a command that erases ends when the log is empty too, since the deleted text would still
be in it. What waits, and what goes together, `clew.store.write_queue` decides.

A disk that is full may have room later, so each batch tries again. A disk that fails to write or to
sync may have lost pages that it had accepted (a second sync can report success for pages that are gone), so after an I/O
error nothing more is written until the store is opened again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

import apsw

from clew.errors import StoreError
from clew.store.batches import DELAY, LONG_DELAY
from clew.store.sqlite.database import BUSY, UNREADABLE, Database, store_error
from clew.store.values import Health
from clew.store.write_future import WriteFuture
from clew.store.write_queue import Erases, QueueLimits, WriteCommand, WriteQueue

T = TypeVar("T")

_Command: TypeAlias = WriteCommand[Database]
Result: TypeAlias = tuple[Any, Exception | None]
"""What a command returned, or the failure that is its own."""


class WriterLimits(NamedTuple):
    """What may wait, and how far the log may grow while a reader elsewhere keeps it from being checkpointed."""

    waiting: int = 1000
    waiting_bytes: int = 64 << 20
    batch: int = 200
    checkpoint_pages: int = 1000
    wal_bytes: int = 256 << 20
    delay: float = DELAY
    long_delay: float = LONG_DELAY


class Writer:
    """Owns the writing connection. `submit` may be called from any thread."""

    def __init__(self, connection: Database, path: Path, limits: WriterLimits, busy: float = BUSY) -> None:
        """`busy` is how many seconds it waits for other processes."""
        self._connection = connection
        self._busy = busy
        self._path = path
        self._limits = limits
        self._queue = WriteQueue[Database](QueueLimits(limits.waiting, limits.waiting_bytes, limits.batch, limits.delay))
        self._lock = threading.Lock()
        self._state: Literal["ok", "degraded", "read-only"] = "ok"
        self._why = ""
        self._wal_pages = 0
        self._uncleared = False

        def note_pages(connection: Database, name: str, pages: int) -> int:
            self._wal_pages = pages
            return apsw.SQLITE_OK

        connection.set_wal_hook(note_pages)
        self._thread = threading.Thread(target=self._work, name=f"clew store {path.name}", daemon=True)
        self._thread.start()

    def submit(
        self,
        run: Callable[[Database], T],
        *,
        weight: int = 0,
        erases: Erases = "",
        later: bool = False,
        lazily: bool = False,
        delay: float | None = None,
        tells: bool = False,
    ) -> Future[T]:
        """Run a command in a transaction. The future ends with its result once that is committed.

        After a command that erases, the log is emptied too. Where a reader prevents that for long, the future of a command
        that erases `now` fails, though it is committed; the log is emptied as soon as that reader is gone. A command for
        `later` runs when nothing else waits, in a transaction of its own; its sender bounds how many there are. A command
        that runs `lazily` runs then too, after a `delay` in seconds, together with others. SQLite itself counts commits, so
        that no command has to tell other processes.
        """
        future: WriteFuture[T] = WriteFuture()
        why = f"is read-only since a failure: {self._why}" if self._state == "read-only" else ""
        command = WriteCommand(run, future, weight, erases)
        why = why or self._queue.add(command, later=later, lazily=lazily, delay=delay)
        if why:
            future.set_exception(StoreError(f"{self._path} {why}", file=str(self._path)))
        return future

    def health(self) -> Health:
        with self._lock:
            size, most, warning = self._wal_bytes(), self._limits.wal_bytes, ""
            if size > most // 4:  # though every checkpoint tries to empty it: soon nothing more may be written
                reader = "because another process reads without end: find and end it"
                warning = f"the log has {size} bytes of at most {most}, {reader}"
            return Health(state=self._state, why=self._why, warning=warning, waiting=len(self._queue), wal_bytes=size)

    def close(self) -> None:
        """Run what waits, then end."""
        self._queue.close()
        self._thread.join()
        self._connection.close()

    def _work(self) -> None:
        while batch := self._queue.take():
            self._run(batch)
            del batch  # the next batch may not come for hours, and this one may hold whole bodies
            if self._state == "read-only":
                continue  # a checkpoint writes, too
            if self._uncleared and not len(self._queue):  # a turn that came meanwhile has waited long enough
                self._empty_log(wait=False)
            elif self._wal_pages >= self._limits.checkpoint_pages:
                self._checkpoint(apsw.SQLITE_CHECKPOINT_PASSIVE)

    def _run(self, batch: list[_Command]) -> None:
        running = [command for command in batch if command.future.set_running_or_notify_cancel()]
        if self._state == "read-only":  # since a batch that these waited for
            for command in running:
                why = f"{self._path} is read-only since a failure: {self._why}"
                command.future.set_exception(StoreError(why, file=str(self._path)))
            return
        try:
            if self._wal_bytes() > self._limits.wal_bytes:
                self._checkpoint(apsw.SQLITE_CHECKPOINT_PASSIVE)
            if self._wal_bytes() > self._limits.wal_bytes:  # each batch looks again: writing goes on when the reader is gone
                why = f"has a log of {self._wal_bytes()} bytes, because another process reads without end"
                raise StoreError(f"{self._path} {why}", file=str(self._path))
            results = self._transact(running)
        except Exception as error:
            self._fail(error)
            for command in running:
                command.future.set_exception(store_error(error, self._path))
            return
        self._report(list(zip(running, results, strict=True)))

    def _report(self, ended: list[tuple[_Command, Result]]) -> None:
        """End the futures; those of commands that erase last, because they wait for the log."""
        erasing: list[tuple[_Command, Result]] = []
        for each in ended:
            command, (_, failure) = each
            if failure is None and self._state != "ok":
                self._state, self._why = "ok", ""
            if command.erases:
                self._uncleared = True
            if command.erases == "now":
                erasing.append(each)
            else:
                _end(*each)
        left = self._empty_log(wait=True) if erasing else None
        for command, (result, failure) in erasing:
            _end(command, (result, failure or left))

    def _empty_log(self, *, wait: bool) -> StoreError | None:
        """Empty the log. Returns why not, if a reader prevents it, and, with `wait`, for longer than the busy time."""
        self._connection.set_busy_timeout(int(self._busy * 1000) if wait else 0)
        self._uncleared = not self._checkpoint(apsw.SQLITE_CHECKPOINT_TRUNCATE)
        self._connection.set_busy_timeout(int(self._busy * 1000))
        if not self._uncleared:
            return None
        why = "has it deleted, but not from its log yet, because another process reads without end: find and end that one"
        return StoreError(f"{self._path} {why}", file=str(self._path))

    def _transact(self, running: list[_Command]) -> list[Result]:
        """Run commands in a transaction that has the write lock from its start, so that no other writer comes between."""
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            results: list[Result] = []
            for command in running:  # one that fails takes nothing of another along
                if len(running) > 1:
                    connection.execute("SAVEPOINT command")
                results.append(self._attempt(command))
                if len(running) > 1:
                    if results[-1][1] is not None:
                        connection.execute("ROLLBACK TO command")
                    connection.execute("RELEASE command")
            connection.execute("COMMIT" if any(failure is None for _, failure in results) else "ROLLBACK")
        except BaseException:
            if connection.in_transaction:  # some failures have rolled back by themselves
                connection.execute("ROLLBACK")
            raise
        return results

    def _attempt(self, command: _Command) -> Result:
        """Run one command. A failure that affects the whole file is raised."""
        try:
            return command.run(self._connection), None
        except (apsw.FullError, apsw.IOError, apsw.CorruptError):
            raise
        except Exception as error:
            return None, store_error(error, self._path) if isinstance(error, (apsw.Error, *UNREADABLE)) else error

    def _fail(self, error: Exception) -> None:
        with self._lock:
            self._state = "read-only" if isinstance(error, apsw.IOError | apsw.CorruptError) else "degraded"
            self._why = str(store_error(error, self._path))

    def _wal_bytes(self) -> int:
        return self._wal_pages * 4096

    def _checkpoint(self, mode: int) -> bool:
        """Move the log into the file as far as readers allow. When all is moved, the log begins again with the next commit.
        False if it failed."""
        try:
            log, done = self._connection.wal_checkpoint(mode=mode)
        except apsw.BusyError:
            return False  # a reader prevents it: the next checkpoint does it
        except apsw.Error as error:
            self._fail(error)
            return False
        self._wal_pages = 0 if log == done else log
        return True


def _end(command: _Command, result: Result) -> None:
    value, failure = result
    if failure is None:
        command.future.set_result(value)
    else:
        command.future.set_exception(failure)
