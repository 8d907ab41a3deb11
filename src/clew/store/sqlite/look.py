"""What people and programs look at: threads, passages, exchanges, what was spent, and the statistics of thinking blocks."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TypeVar

import msgspec

from clew.errors import RecordCorrupt
from clew.store.sqlite.changes import changes_of
from clew.store.sqlite.database import Database, Row, Rows
from clew.store.sqlite.rows import COLUMNS, recording_of_row, unpack
from clew.store.values import Exchange, Passage, Spent, Statistics, Thread

__all__ = [
    "beside",
    "exchange",
    "exchanges",
    "passages",
    "pinned",
    "settings",
    "spent",
    "statistics",
    "thread",
    "thread_of",
    "threads",
]

T = TypeVar("T")

_ROWS = """
SELECT id, principal, session, agent, title, pin, created, used,
    (SELECT count(*) FROM turns WHERE turns.principal = threads.principal AND turns.thread = threads.id) AS turns
FROM threads WHERE principal = :principal"""
_THREADS = f"{_ROWS} AND id >= :first AND id < :last AND used < :before ORDER BY used DESC, id LIMIT :limit"
_PINNED = f"{_ROWS} AND pin <> '' ORDER BY used DESC, id LIMIT :limit"
_BESIDE = f"""{_ROWS} AND id <> :thread AND session <> '' AND session = (
    SELECT session FROM threads WHERE principal = :principal AND id = :thread AND agent = ''
) ORDER BY created, id
"""  # noqa: S608  (constants alone)
_THREAD_OF = """
SELECT id FROM threads WHERE principal = ? AND session = ? AND agent = ? AND session <> '' ORDER BY used DESC LIMIT 1
"""
_PASSAGES = f"""
SELECT turns.exchange, turns.at, turns.asked, {", ".join(f"said.{name}" for name in COLUMNS.split(", "))}
FROM turns LEFT JOIN recordings AS said ON said.principal = turns.principal AND said.id = turns.recording
WHERE turns.principal = ? AND turns.thread = ? ORDER BY turns.seq
"""  # noqa: S608  (the columns are a constant)
_EXCHANGES = """
SELECT exchanges.id AS id, exchanges.principal AS principal, thread, started, ended, asked_model,
    exchanges.backend AS backend, exchanges.model AS model, session, agent,
    outcome, status, first_byte, attempts, changes, kind, streamed, stop_reason, request_id, heals, kept, tries,
    process, betas, input, output, cache_read, cache_written, estimated, thinking
FROM exchanges LEFT JOIN usage ON usage.principal = exchanges.principal AND usage.exchange = exchanges.id
WHERE {of_principal}
"""
_BY_INDEX = _EXCHANGES.format(of_principal="exchanges.principal = :principal")
_BY_TIME = _EXCHANGES.format(of_principal="+exchanges.principal = :principal")
"""The plus keeps SQLite from collecting all exchanges of a principal by their index, only to sort them for the last ten."""
_ONE = f"{_BY_INDEX} AND exchanges.id = :id"
_LAST = " ORDER BY seq DESC LIMIT :limit"
_NEXT = """
AND seq > (SELECT seq FROM exchanges WHERE principal = :principal AND id = :after) ORDER BY seq LIMIT :limit
"""
_SPENT = """
SELECT backend, model, count(*) AS calls, sum(input) AS input, sum(output) AS output, sum(cache_read) AS cache_read,
    sum(cache_written) AS cache_written, max(estimated) AS estimated, sum(thinking) AS thinking
FROM usage WHERE principal = ? AND at >= ? GROUP BY backend, model ORDER BY backend, model
"""
_STATISTICS = """
SELECT count(*), count(seen), coalesce(sum(backend = :backend), 0),
    coalesce(sum(max(made, coalesce(seen, made)) < :now - :idle), 0),
    (SELECT count(*) FROM strangers WHERE strangers.principal = :principal)
FROM marks WHERE principal = :principal AND kind = 'key'
"""


_USAGE = ("input", "output", "cache_read", "cache_written", "estimated", "thinking")


def threads(connection: Database, principal: str, limit: int, before: float | None, starting: str = "") -> list[Thread]:
    range = {"first": starting, "last": starting + chr(sys.maxunicode), "before": float("inf") if before is None else before}
    rows = connection.execute(_THREADS, {"principal": principal, "limit": limit} | range)
    return [_typed(Thread, row) for row in _named(rows)]


def thread(connection: Database, principal: str, id: str) -> Thread | None:
    bindings = {"principal": principal, "first": id, "last": id + "\0", "before": float("inf"), "limit": 1}
    return next((_typed(Thread, row) for row in _named(connection.execute(_THREADS, bindings))), None)


def beside(connection: Database, principal: str, thread: str) -> list[Thread]:
    return [_typed(Thread, row) for row in _named(connection.execute(_BESIDE, {"principal": principal, "thread": thread}))]


def thread_of(connection: Database, principal: str, session: str, agent: str) -> str | None:
    found = connection.execute(_THREAD_OF, (principal, session, agent)).get
    assert found is None or isinstance(found, str)
    return found


def pin_of(connection: Database, principal: str, thread: str) -> str:
    found = connection.execute("SELECT pin FROM threads WHERE principal = ? AND id = ?", (principal, thread)).get
    return found if isinstance(found, str) else ""


def pinned(connection: Database, principal: str, limit: int) -> list[Thread]:
    return [_typed(Thread, row) for row in _named(connection.execute(_PINNED, {"principal": principal, "limit": limit}))]


def passages(connection: Database, principal: str, thread: str) -> list[Passage]:
    return [_passage(row) for row in connection.execute(_PASSAGES, (principal, thread))]


def _passage(row: Row) -> Passage:
    exchange, at, asked, *columns = row
    assert isinstance(exchange, str)
    assert isinstance(at, float)
    assert isinstance(asked, bytes)
    recorded = columns[0] is not None
    return Passage(
        exchange=exchange, at=at, asked=unpack(asked), recording=recording_of_row(tuple(columns)) if recorded else None
    )


def exchanges(
    connection: Database, principal: str, thread: str | None, limit: int, after: str | None = None
) -> list[tuple[Exchange, str]]:
    """Each with the process that hears it, if it is open."""
    start = _BY_TIME if thread is None else f"{_BY_INDEX} AND thread = :thread"
    wanted = start + (_LAST if after is None else _NEXT)
    bindings = {"principal": principal, "thread": thread, "limit": limit, "after": after}
    return [_exchange(row) for row in _named(connection.execute(wanted, bindings))]


def exchange(connection: Database, principal: str, id: str) -> tuple[Exchange, str] | None:
    rows = connection.execute(_ONE, {"principal": principal, "id": id})
    return next((_exchange(row) for row in _named(rows)), None)


def _exchange(row: dict[str, object]) -> tuple[Exchange, str]:
    process = str(row.pop("process"))
    counts = {name: row.pop(name) for name in _USAGE}
    lists = {
        "changes": changes_of(_raw(row["changes"])),
        "tries": msgspec.json.decode(_raw(row["tries"])),
        "betas": str(row["betas"]).split(",") if row["betas"] else (),
    }
    return _typed(Exchange, row | lists | {"usage": counts if counts["input"] is not None else None}), process


def _raw(value: object) -> bytes:
    assert isinstance(value, bytes)
    return value


def spent(connection: Database, principal: str, since: float) -> list[Spent]:
    return [_spent(row) for row in _named(connection.execute(_SPENT, (principal, since)))]


def _spent(row: dict[str, object]) -> Spent:
    return _typed(Spent, {"usage": {name: row.pop(name) for name in _USAGE}} | row)


def statistics(connection: Database, principal: str, backend: str, now: float, idle: float) -> Statistics:
    bindings = {"principal": principal, "backend": backend, "now": now, "idle": idle}
    total, confirmed, current, dormant, unknown = msgspec.convert(
        connection.execute(_STATISTICS, bindings).fetchone(), tuple[int, int, int, int, int]
    )
    return Statistics(
        total=total,
        confirmed=confirmed,
        unconfirmed=total - confirmed,
        current_session=current,
        old_session=total - current,
        dormant=dormant,
        unknown=unknown,
    )


def settings(connection: Database, scope: str) -> dict[str, str]:
    rows = connection.execute("SELECT name, value FROM settings WHERE scope = ? ORDER BY name", (scope,))
    return {str(name): str(value) for name, value in rows}


def _named(cursor: Rows) -> Iterator[dict[str, object]]:
    for row in cursor:
        yield {column[0]: value for column, value in zip(cursor.description, row, strict=True)}


def _typed(type: type[T], row: dict[str, object]) -> T:
    """SQLite has no booleans, hence not strict."""
    try:
        return msgspec.convert(row, type, strict=False)
    except msgspec.ValidationError as error:
        raise RecordCorrupt(f"a row of {type.__name__} cannot be read: {error}") from error
