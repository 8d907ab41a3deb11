"""The one writer of a process: a thread, a connection, a queue, and a future for each command.

Whatever waits goes as one transaction, and its turns as one pipeline: the server gets them without a reply in between. A
batch that fails is done again command by command, so that a failing one does not affect the others. A connection that broke
is made again, and what was under way is sent again: a turn is known by its exchange, so that a commit whose reply was lost
makes no second one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from itertools import groupby
from time import monotonic
from typing import Any, Final, Literal, TypeAlias, TypeVar

import psycopg

from clew.errors import StoreError
from clew.store.postgres.database import AGAIN, PostgresDatabase, store_error
from clew.store.postgres.generation import raise_generation
from clew.store.postgres.turns import TurnWrite
from clew.store.values import Health
from clew.store.write_future import WriteFuture
from clew.store.write_queue import Erases, QueueLimits, WriteCommand, WriteQueue

T = TypeVar("T")

_TRIES: Final = 3
REPLY_SECONDS: Final = 10.0
"""That a turn waits for a reply, before its connection is given up and it is sent again."""
_COMMAND_SECONDS: Final = 120.0
"""That any other command waits: a server or a pooler that is stopped takes what is sent, and says nothing."""
_RECONNECT_SECONDS: Final = 1.0
"""After a failed connection no other is tried for so long: what comes meanwhile fails at once."""
VACUUM: Final = "VACUUM clew.recordings, clew.exchanges, clew.words, clew.natives, clew.marks, clew.bodies, clew.pieces"
"""The tables that have what was said."""

_Command: TypeAlias = WriteCommand[PostgresDatabase]
_Result: TypeAlias = tuple[Any, Exception | None]


class PostgresWriter:
    """Owns the writing connection. `submit` may be called from any thread."""

    def __init__(self, connect: Callable[[], PostgresDatabase], where: str, limits: QueueLimits | None = None) -> None:
        self._connect = connect
        self._where = where
        self._database: PostgresDatabase | None = None
        self._retry_at = 0.0
        self._refusal: psycopg.Error | StoreError | None = None
        """Why the last connection could not be made."""
        self._queue = WriteQueue[PostgresDatabase](limits or QueueLimits(batch=64))
        self.generation = 0
        """The last one that this writer raised and committed."""
        self._state: Literal["ok", "degraded"] = "ok"
        self._why = ""
        self._thread = threading.Thread(target=self._work, name="clew store postgres", daemon=True)
        self._thread.start()

    def submit(
        self,
        run: Callable[[PostgresDatabase], T],
        *,
        weight: int = 0,
        erases: Erases = "",
        later: bool = False,
        lazily: bool = False,
        delay: float | None = None,
        tells: bool = False,
    ) -> Future[T]:
        """Run a command in a transaction. The future ends with its result once that is committed. One that `tells` has a
        transaction of its own, which raises the generation: no turn waits for its notification."""
        future: WriteFuture[T] = WriteFuture()
        why = self._queue.add(_Command(run, future, weight, erases, tells), later=later, lazily=lazily, delay=delay)
        if why:
            future.set_exception(StoreError(f"{self._where} {why}"))
        return future

    def health(self) -> Health:
        return Health(state=self._state, why=self._why, waiting=len(self._queue))

    def close(self) -> None:
        """Run the commands that wait, then end the thread."""
        self._queue.close()
        self._thread.join()
        if self._database is not None:
            self._database.close()

    def _work(self) -> None:
        while batch := self._queue.take():
            running = [command for command in batch if command.future.set_running_or_notify_cancel()]
            for group in _transactions(running):
                for command, (value, failure) in zip(group, self._run(group), strict=True):
                    if failure is None:
                        command.future.set_result(value)
                    else:
                        command.future.set_exception(failure)
            del batch, running  # the next batch may not come for hours, and this one may hold whole bodies

    def _run(self, commands: Sequence[_Command]) -> list[_Result]:
        """Run commands in one transaction. The result or the failure of each."""
        try:
            results: list[_Result] = [(value, None) for value in self._persist(commands)]
        except Exception as error:
            if len(commands) > 1 and not _is_away(error):
                return [result for command in commands for result in self._run([command])]
            failure = store_error(error, self._where)
            self._state, self._why = ("degraded", str(failure)) if isinstance(error, psycopg.Error) else (self._state, "")
            return [(None, error if not isinstance(error, psycopg.Error) else failure) for _ in commands]
        self._state, self._why = "ok", ""
        if any(command.erases == "now" for command in commands):
            # Take deleted rows out of the pages. Where that fails, the server's own vacuum does it later.
            try:
                self._open().run_script(VACUUM)
            except psycopg.Error as error:
                self._why = str(store_error(error, self._where))
        return results

    def _persist(self, commands: Sequence[_Command]) -> list[Any]:
        """Run the commands in one transaction, again if the connection broke or another transaction was in the way."""
        for number in range(1, _TRIES + 1):
            database = self._open()
            try:
                return self._transact(database, commands)
            except psycopg.Error as error:
                if number == _TRIES or not (_is_away(error) or error.sqlstate in AGAIN):
                    raise
        raise AssertionError

    def _transact(self, database: PostgresDatabase, commands: Sequence[_Command]) -> list[Any]:
        turns = [command.run for command in commands if isinstance(command.run, TurnWrite)]
        if len(turns) == len(commands) and all(turn.is_one_statement for turn in turns):
            with database.limited(REPLY_SECONDS):
                return _keep_turns(database, turns)
        raised = 0
        with database.limited(_COMMAND_SECONDS), database.connection.transaction():
            kept = iter(_send_turns(database, turns))
            results = [
                command.run.finish(database, is_kept=next(kept))
                if isinstance(command.run, TurnWrite)
                else command.run(database)
                for command in commands
            ]
            if any(command.tells for command in commands):
                raised = raise_generation(database)
        self.generation = max(raised, self.generation)
        return results

    def _open(self) -> PostgresDatabase:
        """The connection; a new one if it broke. Raises psycopg.Error."""
        if self._database is not None and self._database.is_broken:
            self._database.close()
            self._database = None
        if self._database is None:
            if monotonic() < self._retry_at and self._refusal is not None:
                raise self._refusal
            try:
                self._database = self._connect()
            except (psycopg.Error, StoreError) as error:
                self._retry_at, self._refusal = monotonic() + _RECONNECT_SECONDS, error
                raise
        return self._database


def _transactions(commands: Sequence[_Command]) -> Iterator[list[_Command]]:
    """The commands in their order. Those that tell others, and those that delete, are apart from all others: a turn neither
    waits for what they need nor fails with them."""
    for _, group in groupby(commands, key=lambda command: (command.tells, command.erases)):
        yield [*group]


def _keep_turns(database: PostgresDatabase, turns: Sequence[TurnWrite]) -> list[bool]:
    """Turns of one statement each, in one round trip and one transaction. What the statement itself did not keep is decided
    in a transaction of its own, which is rare."""
    return [is_kept or _decide(database, turn) for turn, is_kept in zip(turns, _send_turns(database, turns), strict=True)]


def _decide(database: PostgresDatabase, turn: TurnWrite) -> bool:
    with database.connection.transaction():
        return turn.finish(database, is_kept=False)


def _send_turns(database: PostgresDatabase, turns: Sequence[TurnWrite]) -> list[bool]:
    return database.keep_turns([turn.values for turn in turns]) if turns else []


def _is_away(error: Exception) -> bool:
    """Whether the connection is gone, or the server is going."""
    if not isinstance(error, psycopg.OperationalError):
        return False
    return error.sqlstate is None or error.sqlstate[:2] in ("08", "57") or error.sqlstate == "25006"
