"""Reading threads: lists of them, their pins, what was said in them, and their branches; and reading choices.

A thread is a tree. A client that rewinds a conversation and continues from there, or asks twice at once, makes a fork: two
answers followed the same one. A branch is a row of answers of which each followed the one before, and no other answer did. A
client's sub-agents have threads of their own with the session of the main thread: each begins after the last answer of the
main thread that was complete when the sub-agent began. An answer whose predecessor was deleted begins a branch. Turns
without an answer are in no branch: nothing can follow them.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from clew.store.sqlite.database import Database, Value, named_rows, typed_row
from clew.store.sqlite.rows import COLUMNS, recording_of_row, unpack
from clew.store.values import Branch, Passage, Thread

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
            branches.append(_branch(answer, before or _sender(answer, main), next_of))
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


def _sender(start: _Answer, main: Sequence[_Answer]) -> _Answer | None:
    """The answer of the main thread that started this agent: the last that was complete before the agent began."""
    if not start.agent or not main or main[0].thread == start.thread:
        return None
    return next((answer for answer in reversed(main) if answer.ended <= start.started), None)
