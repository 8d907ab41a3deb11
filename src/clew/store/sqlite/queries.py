"""Reading: threads, their pins, what was said in them, their branches; what happened to requests, what they used, and the
statistics of thinking blocks; and choices.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

import msgspec

from clew.model.turn import Exchange
from clew.store.branches import branches_of
from clew.store.days import MOST_ANSWERS, PROMPT_STEPS, days_of
from clew.store.rows import COLUMNS, Value, recording_of_row, unpack, unpack_changes
from clew.store.sqlite.database import Database, named_rows, typed_row
from clew.store.values import Branch, Days, Passage, Statistics, Thread, ThreadTotal, UsageTotal

_ROWS = """
SELECT id, principal, session, agent, title, pin, created, used,
    (SELECT count(*) FROM turns WHERE turns.principal = threads.principal AND turns.thread = threads.id) AS turns
FROM threads WHERE principal = :principal"""
_THREADS = f"{_ROWS} AND id >= :first AND id < :last AND used < :before ORDER BY used DESC, id LIMIT :limit"
_PINNED = f"{_ROWS} AND pin <> '' ORDER BY used DESC, id LIMIT :limit"
_SIBLINGS = f"""{_ROWS} AND id <> :thread AND session <> '' AND session = (
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
_ANSWERS = """
SELECT said.id, coalesce(said.followed, '') AS followed, exchanges.id AS exchange, exchanges.thread, exchanges.agent,
    started, ended
FROM exchanges JOIN recordings AS said ON said.principal = exchanges.principal AND said.id = exchanges.recording
WHERE exchanges.principal = :principal AND said.blocks <> x'90' AND kind = 'messages' AND exchanges.thread IN (
    SELECT :thread UNION
    SELECT other.id FROM threads AS own JOIN threads AS other
        ON other.principal = own.principal AND other.session = own.session AND own.session <> '' AND own.agent = ''
    WHERE own.principal = :principal AND own.id = :thread
) ORDER BY exchanges.seq
"""


def threads(connection: Database, principal: str, limit: int, before: float | None, starting: str = "") -> list[Thread]:
    range = {"first": starting, "last": starting + chr(sys.maxunicode), "before": float("inf") if before is None else before}
    return _select(connection, _THREADS, {"principal": principal, "limit": limit} | range)


def thread(connection: Database, principal: str, id: str) -> Thread | None:
    bindings = {"principal": principal, "first": id, "last": id + "\0", "before": float("inf"), "limit": 1}
    return next(iter(_select(connection, _THREADS, bindings)), None)


def sibling_threads(connection: Database, principal: str, thread: str) -> list[Thread]:
    return _select(connection, _SIBLINGS, {"principal": principal, "thread": thread})


def pinned(connection: Database, principal: str, limit: int) -> list[Thread]:
    return _select(connection, _PINNED, {"principal": principal, "limit": limit})


def _select(connection: Database, statement: str, bindings: Mapping[str, Value]) -> list[Thread]:
    return [typed_row(Thread, row) for row in named_rows(connection.execute(statement, bindings))]


def thread_of(connection: Database, principal: str, session: str, agent: str) -> str | None:
    found = connection.execute(_THREAD_OF, (principal, session, agent)).get
    assert found is None or isinstance(found, str)
    return found


def pin_of(connection: Database, principal: str, thread: str) -> str:
    found = connection.execute("SELECT pin FROM threads WHERE principal = ? AND id = ?", (principal, thread)).get
    return found if isinstance(found, str) else ""


def settings(connection: Database, scope: str) -> dict[str, str]:
    rows = connection.execute("SELECT name, value FROM settings WHERE scope = ? ORDER BY name", (scope,))
    return {str(name): str(value) for name, value in rows}


def passages(connection: Database, principal: str, thread: str) -> list[Passage]:
    found: list[Passage] = []
    for exchange, at, asked, *columns in connection.execute(_PASSAGES, (principal, thread)):
        assert isinstance(exchange, str)
        assert isinstance(at, float)
        assert isinstance(asked, bytes)
        recording = recording_of_row(tuple(columns)) if columns[0] is not None else None
        found.append(Passage(exchange=exchange, at=at, asked=unpack(asked), recording=recording))
    return found


def tree(connection: Database, principal: str, thread: str) -> list[Branch]:
    return branches_of(connection.execute(_ANSWERS, {"principal": principal, "thread": thread}).fetchall(), thread)


_EXCHANGES = """
SELECT exchanges.id AS id, exchanges.principal AS principal, thread, started, ended, asked_model,
    exchanges.backend AS backend, exchanges.model AS model, session, agent,
    outcome, status, first_byte, attempts, changes, kind, streamed, stop_reason, request_id, heals, kept, tries,
    process, betas, dialect, client, input, output, cache_read, cache_written, estimated, thinking, micro_usd,
    coalesce(key_name, '') AS key, coalesce(team_name, '') AS team
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
_TOTALS = """
SELECT backend, model, count(*) AS calls, sum(input) AS input, sum(output) AS output, sum(cache_read) AS cache_read,
    sum(cache_written) AS cache_written, max(estimated) AS estimated, sum(thinking) AS thinking,
    sum(micro_usd) AS micro_usd
FROM usage WHERE principal = ? AND at >= ? GROUP BY backend, model ORDER BY backend, model
"""
_THREAD_TOTALS = """
SELECT done.thread, done.backend, done.model, done.dialect, done.client, coalesce(key_name, '') AS key, count(*) AS calls,
    sum(max(0.0, done.ended - done.started)) AS seconds,
    coalesce(sum(input), 0) AS input, coalesce(sum(output), 0) AS output, coalesce(sum(cache_read), 0) AS cache_read,
    coalesce(sum(cache_written), 0) AS cache_written, coalesce(max(estimated), 0) AS estimated, sum(thinking) AS thinking,
    sum(micro_usd) AS micro_usd
FROM json_each(:threads) AS wanted JOIN exchanges AS done ON done.principal = :principal AND done.thread = wanted.value
    LEFT JOIN usage ON usage.principal = done.principal AND usage.exchange = done.id
GROUP BY done.thread, done.backend, done.model, done.dialect, done.client, coalesce(key_name, '')
ORDER BY done.thread, max(done.seq)
"""
_STATISTICS = """
SELECT count(*), count(seen), coalesce(sum(backend = :backend), 0),
    coalesce(sum(max(made, coalesce(seen, made)) < :now - :idle), 0),
    (SELECT count(*) FROM strangers WHERE strangers.principal = :principal)
FROM marks WHERE principal = :principal AND kind = 'key'
"""
_DAY = "date({}, 'unixepoch', 'localtime')"
_PROMPT_STEP = " + ".join(f"(input + cache_read + cache_written > {step})" for step in PROMPT_STEPS)
_DAY_USAGE = f"""
SELECT {_DAY.format("at")} AS day, backend, model, count(*), sum(input), sum(output), sum(cache_read), sum(cache_written),
    max(estimated)
FROM usage WHERE principal = ? AND at >= ?
GROUP BY day, backend, model, {_PROMPT_STEP} ORDER BY day, backend, model
"""  # noqa: S608  (only constants are put in)
_DAY_TIMES = f"""
SELECT {_DAY.format("ended")}, backend, model, outcome = 'whole', first_byte, ended - started
FROM exchanges WHERE principal = ? AND ended >= ? AND kind = 'messages' AND outcome <> 'open'
ORDER BY seq DESC LIMIT {MOST_ANSWERS}
"""  # noqa: S608  (only constants are put in)
_DAY_THINKING = f"""
SELECT {_DAY.format("made")} AS day, said.backend, said.model, count(DISTINCT marks.recording)
FROM marks JOIN recordings AS said ON said.seq = marks.recording
WHERE marks.principal = ? AND kind = 'key' AND made >= ? AND said.whole GROUP BY day, said.backend, said.model
"""  # noqa: S608  (only constants are put in)

MOST_OPEN = 500
"""Open exchanges behind which the newest one that is over is looked for."""
_USAGE = ("input", "output", "cache_read", "cache_written", "estimated", "thinking", "micro_usd")


def exchanges(
    connection: Database, principal: str, thread: str | None, limit: int, after: str | None = None
) -> list[tuple[Exchange, str]]:
    """Each with the process that answers it, if it is open."""
    start = _BY_TIME if thread is None else f"{_BY_INDEX} AND thread = :thread"
    wanted = start + (_LAST if after is None else _NEXT)
    bindings = {"principal": principal, "thread": thread, "limit": limit, "after": after}
    return [_exchange(row) for row in named_rows(connection.execute(wanted, bindings))]


def exchange(connection: Database, principal: str, id: str) -> tuple[Exchange, str] | None:
    rows = connection.execute(_ONE, {"principal": principal, "id": id})
    return next((_exchange(row) for row in named_rows(rows)), None)


def position(connection: Database, principal: str) -> str:
    """The newest exchange that is over: an open one is replaced, maybe at the same place."""
    newest = exchanges(connection, principal, None, MOST_OPEN)
    return next((each.id for each, _ in newest if each.outcome != "open"), "")


def exchanges_since(
    connection: Database, principal: str, position: str, limit: int
) -> tuple[list[tuple[Exchange, str]], str]:
    """One writer at a time gives out the places, so what becomes visible later has a later one."""
    page = exchanges(connection, principal, None, limit, position) if position else []
    if not page and (not position or exchange(connection, principal, position) is None):
        page = exchanges(connection, principal, None, limit)[::-1]
    over = [each.id for each, _ in page if each.outcome != "open"]
    return page, over[-1] if over else position


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


def usage_totals(connection: Database, principal: str, since: float) -> list[UsageTotal]:
    rows = named_rows(connection.execute(_TOTALS, (principal, since)))
    return [typed_row(UsageTotal, {"usage": {name: row.pop(name) for name in _USAGE}} | row) for row in rows]


def thread_totals(connection: Database, principal: str, threads: Sequence[str]) -> list[ThreadTotal]:
    wanted = {"principal": principal, "threads": msgspec.json.encode(threads).decode()}
    rows = named_rows(connection.execute(_THREAD_TOTALS, wanted))
    return [typed_row(ThreadTotal, {"usage": {name: row.pop(name) for name in _USAGE}} | row) for row in rows]


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


def days(connection: Database, principal: str, since: float) -> Days:
    usage, times, thinking = (
        connection.execute(statement, (principal, since)).fetchall() for statement in (_DAY_USAGE, _DAY_TIMES, _DAY_THINKING)
    )
    return days_of(usage, times, thinking)
