"""One statement for many rows of parameters, in one transaction and one round trip.

This speaks to the server below psycopg's cursors, whose work for each statement took as long as all else that a turn costs
its writer: parameters are bytes already, the statement is prepared once by a name of its own, and all that is wanted of a
result is whether it counted anything.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Final, NamedTuple

import psycopg
from psycopg.errors import error_from_result
from psycopg.pq import ConnStatus, ExecStatus
from psycopg.pq.abc import PGconn, PGresult
from psycopg.waiting import Ready, Wait

from clew.store.rows import Row

_AS_TEXT, _AS_BYTES = 0, 1
_NONE: Final = b"0"
UNPREPARED: Final = "26000"
"""The server's code where it does not know the statement: psycopg lets it forget all after some changes of tables."""
_DONE: Final = (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK)


class RowStatement(NamedTuple):
    """A statement that counts, with the types of its parameters. Those without a type are texts."""

    name: bytes
    text: bytes
    types: Sequence[int]

    @property
    def formats(self) -> Sequence[int]:
        return [_AS_BYTES if each else _AS_TEXT for each in self.types]


class RowPipeline:
    """Of one connection."""

    def __init__(self, connection: psycopg.Connection[Row], statement: RowStatement, *, prepares: bool) -> None:
        """Without `prepares` each row sends the statement again: behind a pooler its name may be another session's."""
        self._connection = connection
        self._statement = statement
        self._formats = statement.formats
        self._prepares = prepares
        self._is_prepared = False

    def run(self, rows: Sequence[Sequence[bytes | None]]) -> list[bool]:
        """Whether the statement counted anything, for each row. Outside of a transaction, all rows are one. Raises
        psycopg.Error."""
        connection = self._connection.pgconn
        prepares = self._prepares and not self._is_prepared
        connection.enter_pipeline_mode()
        try:
            self._queue(connection, rows, prepares=prepares)
            results = self._connection.wait(_exchange(connection))
        finally:
            if connection.status == ConnStatus.OK:
                connection.exit_pipeline_mode()
        self._is_prepared |= prepares and results[0].status == ExecStatus.COMMAND_OK
        for result in results:
            if result.status not in _DONE:
                error = error_from_result(result)
                self._is_prepared &= error.sqlstate != UNPREPARED
                raise error
        return [result.get_value(0, 0) != _NONE for result in results if result.status == ExecStatus.TUPLES_OK]

    def _queue(self, connection: PGconn, rows: Sequence[Sequence[bytes | None]], *, prepares: bool) -> None:
        statement = self._statement
        if prepares:
            connection.send_prepare(statement.name, statement.text, statement.types)
        for row in rows:
            if self._prepares:
                connection.send_query_prepared(statement.name, row, self._formats)
            else:
                connection.send_query_params(statement.text, row, statement.types, self._formats)
        connection.pipeline_sync()


def _exchange(connection: PGconn) -> Generator[Wait, Ready | int, list[PGresult]]:
    """Send what is queued, and take the results up to the end of the pipeline. It waits by psycopg's own means."""
    results: list[PGresult] = []
    while True:
        ready = yield Wait.RW if connection.flush() else Wait.R
        if not ready & Ready.R:
            continue
        connection.consume_input()
        is_over = False
        while not connection.is_busy():
            result = connection.get_result()  # None behind each statement's, and again where no more are here
            if result is None and is_over:
                break
            is_over = result is None
            if result is None:
                continue
            if result.status == ExecStatus.PIPELINE_SYNC:
                return results
            results.append(result)
