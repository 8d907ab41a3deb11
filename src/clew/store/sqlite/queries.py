"""Reading: threads, their pins, what was said in them, their branches; what happened to requests, what they used, and the
statistics of thinking blocks; and choices.

A thread is a tree. A client that rewinds a conversation and continues from there, or asks twice at once, makes a fork: two
answers followed the same one. A branch is a row of answers of which each followed the one before, and no other answer did. A
client's sub-agents have threads of their own with the session of the main thread: each begins after the last answer of the
main thread that was complete when the sub-agent began. An answer whose predecessor was deleted begins a branch. Turns
without an answer are in no branch: nothing can follow them.

Prices rise with the length of a prompt. So the usage of a day is summed apart by length, between the lengths where any
vendor's price changes: the price of a group is then the price of its average call, times the calls.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from clew.model.turn import Exchange, TokenUsage
from clew.store.sqlite.database import Database, Value, named_rows, typed_row
from clew.store.sqlite.rows import COLUMNS, recording_of_row, unpack, unpack_changes
from clew.store.values import Branch, DayAnswers, Days, DayUsage, Passage, Statistics, Thread, UsageTotal

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


class _Answer(Struct, frozen=True, array_like=True):
    id: str
    followed: str
    exchange: str
    thread: str
    agent: str
    started: float
    ended: float


def tree(connection: Database, principal: str, thread: str) -> list[Branch]:
    rows = connection.execute(_ANSWERS, {"principal": principal, "thread": thread}).fetchall()
    answers = {answer.id: answer for answer in msgspec.convert(rows, list[_Answer])}
    next_of: dict[str, list[_Answer]] = defaultdict(list)
    for answer in answers.values():
        next_of[answer.followed].append(answer)
    main = [answer for answer in answers.values() if answer.thread == thread]
    branches: list[Branch] = []
    for answer in answers.values():
        before = answers.get(answer.followed)
        if before is None or before.thread != answer.thread or len(next_of[answer.followed]) > 1:
            if before is None and answer.agent and answer.thread != thread:  # the answer that started this agent
                before = next((each for each in reversed(main) if each.ended <= answer.started), None)
            branches.append(_branch(answer, before, next_of))
    return branches


def _branch(start: _Answer, before: _Answer | None, next_of: Mapping[str, Sequence[_Answer]]) -> Branch:
    answers = [start]
    while len(following := next_of.get(answers[-1].id, ())) == 1 and following[0].thread == start.thread:
        answers += following
    return Branch(
        thread=start.thread,
        agent=start.agent,
        after=before.exchange if before else "",
        exchanges=tuple(answer.exchange for answer in answers),
        began=start.started,
        ended=answers[-1].ended,
    )


PROMPT_STEPS: Final = (32_000, 100_000, 128_000, 199_999, 200_000, 256_000, 272_000, 512_000, 524_288)
"""Tokens of a prompt above which some vendor's price changes."""
MOST_ANSWERS: Final = 200_000
"""Answers whose times are read, the newest first."""

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
_TOTALS = """
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

_USAGE = ("input", "output", "cache_read", "cache_written", "estimated", "thinking")

_UsageRow = tuple[str, str, str, int, int, int, int, int, int]
_TimeRow = tuple[str, str, str, int, float | None, float]
_ThinkingRow = tuple[str, str, str, int]


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
    wanted = (principal, since)
    usage = msgspec.convert(connection.execute(_DAY_USAGE, wanted).fetchall(), list[_UsageRow])
    times = msgspec.convert(connection.execute(_DAY_TIMES, wanted).fetchall(), list[_TimeRow])
    thinking = msgspec.convert(connection.execute(_DAY_THINKING, wanted).fetchall(), list[_ThinkingRow])
    spent: list[DayUsage] = []
    for day, backend, model, calls, input, output, read, written, estimated in usage:
        used = TokenUsage(input=input, output=output, cache_read=read, cache_written=written, estimated=bool(estimated))
        spent.append(DayUsage(day=day, backend=backend, model=model, calls=calls, usage=used))
    groups: defaultdict[tuple[str, str, str], list[_TimeRow]] = defaultdict(list)
    for row in times:
        groups[row[:3]].append(row)
    thoughts = {row[:3]: row[3] for row in thinking}
    answers = [
        DayAnswers(
            day=day,
            backend=backend,
            model=model,
            asked=len(rows),
            whole=sum(row[3] for row in rows),
            thought=thoughts.get((day, backend, model), 0),
            first_byte=tuple(sorted(row[4] for row in rows if row[4] is not None)),
            seconds=tuple(sorted(row[5] for row in rows if row[3])),
        )
        for (day, backend, model), rows in sorted(groups.items())
    ]
    return Days(spent=tuple(spent), answers=tuple(answers))
