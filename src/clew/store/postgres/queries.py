"""Reading: threads, what was said in them, what happened to requests, what they used, and choices."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from time import localtime
from typing import Final

import msgspec

from clew.model.turn import Exchange
from clew.store.branches import branches_of
from clew.store.days import MOST_ANSWERS, PROMPT_STEPS, days_of
from clew.store.postgres.database import PostgresDatabase, typed_row
from clew.store.rows import COLUMNS, Row, recording_of_row, unpack, unpack_changes
from clew.store.values import Branch, Days, NativePassage, Passage, Statistics, Thread, ThreadTotal, UsageTotal

# Ids of threads are compared byte by byte, in a collation of their own; an index of exchanges has the default one.
_ROWS: Final = """
SELECT id, principal, session, agent, title, pin, created, used, (
    SELECT count(*) FROM clew.exchanges
    WHERE exchanges.principal = threads.principal AND exchanges.thread = threads.id COLLATE "default" AND kind = 'messages'
) AS turns
FROM clew.threads WHERE principal = $1"""
_THREADS: Final = f"{_ROWS} AND id >= $2 AND id < $3 AND used < $4::float8 ORDER BY used DESC, id LIMIT $5"
_PINNED: Final = f"{_ROWS} AND pin <> '' ORDER BY used DESC, id LIMIT $2"
_SIBLINGS: Final = f"""{_ROWS} AND id <> $2 AND session <> '' AND session = (
    SELECT session FROM clew.threads WHERE principal = $1 AND id = $2 AND agent = ''
) ORDER BY created, id
"""  # noqa: S608  (constants alone)
THREAD_OF: Final = """
SELECT id FROM clew.threads WHERE principal = $1 AND session = $2 AND agent = $3 AND session <> ''
ORDER BY used DESC LIMIT 1
"""
_PASSAGES: Final = f"""
SELECT exchanges.id, exchanges.ended, exchanges.asked, {", ".join(f"said.{name}" for name in COLUMNS.split(", "))}
FROM clew.exchanges LEFT JOIN clew.recordings AS said
    ON said.principal = exchanges.principal AND said.id = exchanges.recording
WHERE exchanges.principal = $1 AND exchanges.thread = $2 AND kind = 'messages' ORDER BY exchanges.seq
"""  # noqa: S608  (the columns are a constant)
_ANSWERS: Final = """
SELECT said.id, coalesce(said.followed, ''), exchanges.id, exchanges.thread, exchanges.agent, started, ended
FROM clew.exchanges JOIN clew.recordings AS said
    ON said.principal = exchanges.principal AND said.id = exchanges.recording
WHERE exchanges.principal = $1 AND said.blocks <> '\\x90' AND kind = 'messages' AND exchanges.thread IN (
    SELECT $2 UNION
    SELECT other.id COLLATE "default" FROM clew.threads AS own JOIN clew.threads AS other
        ON other.principal = own.principal AND other.session = own.session AND own.session <> '' AND own.agent = ''
    WHERE own.principal = $1 AND own.id = $2
) ORDER BY exchanges.seq
"""

_EXCHANGES: Final = """
SELECT exchanges.id, exchanges.principal, thread, started, ended, asked_model, exchanges.backend, exchanges.model, session,
    agent, outcome, status, first_byte, attempts, changes, kind, streamed, stop_reason, request_id, heals, kept, tries,
    process, betas, dialect, client, input, output, cache_read, cache_written, estimated, thinking, micro_usd,
    coalesce(key_name, '') AS key, coalesce(team_name, '') AS team
FROM clew.exchanges LEFT JOIN clew.usage
    ON usage.principal = exchanges.principal AND usage.exchange = exchanges.id AND usage.at = exchanges.ended
WHERE exchanges.principal = $1"""
_ONE: Final = f"{_EXCHANGES} AND exchanges.id = $2"
_LAST: Final = f"{_EXCHANGES} AND ($2::text IS NULL OR thread = $2) ORDER BY exchanges.seq DESC LIMIT $3"
_NEXT: Final = f"""{_EXCHANGES} AND ($2::text IS NULL OR thread = $2) AND exchanges.seq > (
    SELECT seq FROM clew.exchanges WHERE principal = $1 AND id = $4
) ORDER BY exchanges.seq LIMIT $3
"""  # noqa: S608  (constants alone)
_HORIZON: Final = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
_SINCE: Final = f"""{_EXCHANGES.replace("SELECT ", "SELECT xid, seq, ", 1)} AND (xid, seq) > ($2::bigint, $3::bigint)
    AND xid < ({_HORIZON}) ORDER BY xid, seq LIMIT $4
"""
_TOTALS: Final = """
SELECT backend, model, count(*) AS calls, sum(input)::bigint AS input, sum(output)::bigint AS output,
    sum(cache_read)::bigint AS cache_read, sum(cache_written)::bigint AS cache_written, max(estimated) AS estimated,
    sum(thinking)::bigint AS thinking, sum(micro_usd)::bigint AS micro_usd
FROM clew.usage WHERE principal = $1 AND at >= $2::float8
GROUP BY backend, model ORDER BY backend COLLATE "C", model COLLATE "C"
"""
_THREAD_TOTALS: Final = """
SELECT done.thread, done.backend, done.model, done.dialect, done.client, coalesce(key_name, '') AS key, count(*) AS calls,
    sum(greatest(0.0, done.ended - done.started)) AS seconds,
    coalesce(sum(input), 0)::bigint AS input, coalesce(sum(output), 0)::bigint AS output,
    coalesce(sum(cache_read), 0)::bigint AS cache_read, coalesce(sum(cache_written), 0)::bigint AS cache_written,
    coalesce(max(estimated), 0) AS estimated, sum(thinking)::bigint AS thinking, sum(micro_usd)::bigint AS micro_usd
FROM clew.exchanges AS done LEFT JOIN clew.usage AS used ON used.principal = done.principal AND used.exchange = done.id
WHERE done.principal = $1 AND done.thread = ANY ($2::text[])
GROUP BY done.thread, done.backend, done.model, done.dialect, done.client, coalesce(key_name, '')
ORDER BY done.thread COLLATE "C", max(done.seq)
"""
_STATISTICS: Final = """
SELECT count(*), count(seen), count(*) FILTER (WHERE backend = $2),
    count(*) FILTER (WHERE greatest(made, coalesce(seen, made)) < $3::float8 - $4::float8),
    (SELECT count(*) FROM clew.strangers WHERE strangers.principal = $1)
FROM clew.marks WHERE principal = $1 AND kind = 'key'
"""
_DAY: Final = "to_char(to_timestamp({} + $3::float8) AT TIME ZONE 'UTC', 'YYYY-MM-DD')"
_PROMPT_STEP: Final = " + ".join(f"(input + cache_read + cache_written > {step})::int" for step in PROMPT_STEPS)
_DAY_USAGE: Final = f"""
SELECT {_DAY.format("at")} AS day, backend, model, count(*), sum(input)::bigint, sum(output)::bigint,
    sum(cache_read)::bigint, sum(cache_written)::bigint, max(estimated)
FROM clew.usage WHERE principal = $1 AND at >= $2::float8
GROUP BY day, backend, model, {_PROMPT_STEP} ORDER BY day, backend COLLATE "C", model COLLATE "C"
"""  # noqa: S608  (only constants are put in)
_DAY_TIMES: Final = f"""
SELECT {_DAY.format("ended")}, backend, model, (outcome = 'whole')::int, first_byte, ended - started
FROM clew.exchanges WHERE principal = $1 AND ended >= $2::float8 AND kind = 'messages' AND outcome <> 'open'
ORDER BY seq DESC LIMIT {MOST_ANSWERS}
"""  # noqa: S608  (only constants are put in)
_DAY_THINKING: Final = f"""
SELECT {_DAY.format("made")} AS day, said.backend, said.model, count(DISTINCT marks.recording)
FROM clew.marks JOIN clew.recordings AS said ON said.seq = marks.recording
WHERE marks.principal = $1 AND kind = 'key' AND made >= $2::float8 AND said.whole = 1 GROUP BY day, said.backend, said.model
"""  # noqa: S608  (only constants are put in)
_USAGE: Final = ("input", "output", "cache_read", "cache_written", "estimated", "thinking", "micro_usd")

_HISTORY: Final = """
WITH RECURSIVE past (exchange, follows, distance) AS (
    SELECT exchange, follows, 0 FROM clew.natives WHERE principal = $1 AND exchange = $2 AND NOT hidden
    UNION ALL
    SELECT natives.exchange, natives.follows, distance + 1 FROM past JOIN clew.natives
        ON natives.principal = $1 AND natives.exchange = past.follows
)
SELECT natives.exchange, items, answer, natives.follows FROM past JOIN clew.natives
    ON natives.principal = $1 AND natives.exchange = past.exchange ORDER BY distance DESC
"""
_TURNS: Final = """
SELECT exchange, items, answer FROM clew.natives WHERE principal = $1 AND exchange = ANY ($2::text[]) AND NOT hidden
"""


def threads(
    database: PostgresDatabase, principal: str, limit: int, before: float | None, starting: str = ""
) -> list[Thread]:
    last, until = starting + chr(sys.maxunicode), float("inf") if before is None else before
    return _select_threads(database, _THREADS, principal, starting, last, until, limit)


def thread(database: PostgresDatabase, principal: str, id: str) -> Thread | None:
    found = _select_threads(database, f"{_ROWS} AND id = $2", principal, id)
    return found[0] if found else None


def sibling_threads(database: PostgresDatabase, principal: str, thread: str) -> list[Thread]:
    return _select_threads(database, _SIBLINGS, principal, thread)


def pinned(database: PostgresDatabase, principal: str, limit: int) -> list[Thread]:
    return _select_threads(database, _PINNED, principal, limit)


def _select_threads(database: PostgresDatabase, statement: str, *values: object) -> list[Thread]:
    return [typed_row(Thread, row) for row in database.named_rows(statement, *values)]


def thread_of(database: PostgresDatabase, principal: str, session: str, agent: str) -> str | None:
    found = database.value(THREAD_OF, principal, session, agent)
    return found if isinstance(found, str) else None


def pin_of(database: PostgresDatabase, principal: str, thread: str) -> str:
    found = database.value("SELECT pin FROM clew.threads WHERE principal = $1 AND id = $2", principal, thread)
    return found if isinstance(found, str) else ""


def settings(database: PostgresDatabase, scope: str) -> dict[str, str]:
    rows = database.rows('SELECT name, value FROM clew.settings WHERE scope = $1 ORDER BY name COLLATE "C"', scope)
    return {str(name): str(value) for name, value in rows}


def passages(database: PostgresDatabase, principal: str, thread: str) -> list[Passage]:
    found: list[Passage] = []
    for exchange, at, asked, *columns in database.rows(_PASSAGES, principal, thread):
        assert isinstance(exchange, str)
        assert isinstance(at, float)
        assert isinstance(asked, bytes)
        recording = recording_of_row(tuple(columns)) if columns[0] is not None else None
        found.append(Passage(exchange=exchange, at=at, asked=unpack(asked), recording=recording))
    return found


def tree(database: PostgresDatabase, principal: str, thread: str) -> list[Branch]:
    return branches_of(database.rows(_ANSWERS, principal, thread), thread)


def exchanges(
    database: PostgresDatabase, principal: str, thread: str | None, limit: int, after: str | None = None
) -> list[tuple[Exchange, str]]:
    """Each with the process that answers it, if it is open."""
    wanted = (principal, thread, limit)
    rows = database.named_rows(_LAST, *wanted) if after is None else database.named_rows(_NEXT, *wanted, after)
    return [_exchange(row) for row in rows]


def exchange(database: PostgresDatabase, principal: str, id: str) -> tuple[Exchange, str] | None:
    found = database.named_rows(_ONE, principal, id)
    return _exchange(found[0]) if found else None


def position(database: PostgresDatabase, principal: str) -> str:
    return f"{database.value(_HORIZON)} 0"


def exchanges_since(
    database: PostgresDatabase, principal: str, position: str, limit: int
) -> tuple[list[tuple[Exchange, str]], str]:
    """In the order of their transactions, and only up to the oldest that is still under way: what becomes visible later is
    behind that."""
    if not position:
        return exchanges(database, principal, None, limit)[::-1], f"{database.value(_HORIZON)} 0"
    xid, seq = map(int, position.split())
    rows = database.named_rows(_SINCE, principal, xid, seq, limit)
    places = [(row.pop("xid"), row.pop("seq")) for row in rows]
    return [_exchange(row) for row in rows], "{} {}".format(*places[-1]) if places else position


def _exchange(row: dict[str, object]) -> tuple[Exchange, str]:
    process, betas = str(row.pop("process")), str(row["betas"])
    changes, tries = row["changes"], row["tries"]
    assert isinstance(changes, bytes)
    assert isinstance(tries, bytes)
    counts = {name: row.pop(name) for name in _USAGE}
    row |= {
        "changes": unpack_changes(changes),
        "tries": msgspec.json.decode(tries),
        "betas": betas.split(",") if betas else (),
        "usage": counts if counts["input"] is not None else None,
    }
    return typed_row(Exchange, row), process


def native_history(database: PostgresDatabase, principal: str, exchange: str) -> list[NativePassage]:
    rows = database.rows(_HISTORY, principal, exchange)
    if not rows or rows[0][3] is not None:  # the oldest followed one that is not there any more
        return []
    return [_native_passage(row) for row in rows]


def native_turns(database: PostgresDatabase, principal: str, exchanges: Iterable[str]) -> list[NativePassage]:
    return [_native_passage(row) for row in database.rows(_TURNS, principal, list(exchanges))]


def hide_native_turn(database: PostgresDatabase, principal: str, exchange: str) -> bool:
    hide = "UPDATE clew.natives SET hidden = true WHERE principal = $1 AND exchange = $2 AND NOT hidden"
    return bool(database.run(hide, principal, exchange))


def _native_passage(row: Row) -> NativePassage:
    exchange, items, answer = row[:3]
    assert isinstance(exchange, str)
    assert isinstance(items, bytes)
    assert isinstance(answer, bytes)
    return NativePassage(exchange=exchange, items=unpack(items), answer=answer)


def usage_totals(database: PostgresDatabase, principal: str, since: float) -> list[UsageTotal]:
    rows = database.named_rows(_TOTALS, principal, since)
    return [typed_row(UsageTotal, {"usage": {name: row.pop(name) for name in _USAGE}} | row) for row in rows]


def thread_totals(database: PostgresDatabase, principal: str, threads: Sequence[str]) -> list[ThreadTotal]:
    rows = database.named_rows(_THREAD_TOTALS, principal, list(threads))
    return [typed_row(ThreadTotal, {"usage": {name: row.pop(name) for name in _USAGE}} | row) for row in rows]


def statistics(database: PostgresDatabase, principal: str, backend: str, now: float, idle: float) -> Statistics:
    row = database.row(_STATISTICS, principal, backend, now, idle)
    total, confirmed, current, dormant, unknown = msgspec.convert(row, tuple[int, int, int, int, int])
    return Statistics(
        total=total,
        confirmed=confirmed,
        unconfirmed=total - confirmed,
        current_session=current,
        old_session=total - current,
        dormant=dormant,
        unknown=unknown,
    )


def days(database: PostgresDatabase, principal: str, since: float) -> Days:
    """By the days of this machine: the server may stand in another time zone. On days before the clocks changed, the last
    hour may count for the next day."""
    offset = float(localtime(since if since > 0 else None).tm_gmtoff)
    usage, times, thinking = (
        database.rows(statement, principal, since, offset) for statement in (_DAY_USAGE, _DAY_TIMES, _DAY_THINKING)
    )
    return days_of(usage, times, thinking)
