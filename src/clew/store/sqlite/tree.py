"""A thread as a tree: the stretches between the places where somebody went back, or sent an agent.

Whoever rewinds a conversation and goes on from there, or asks twice at once, makes a fork: two answers followed the same
one. A stretch is a row of answers of which each followed the one before, and nobody else did. A client's sub-agents have
threads of their own, with the session of the main one: each begins after the last answer of the main thread that was there
when it began.

An answer whose predecessor is forgotten begins anew. Turns without an answer are in no stretch: nothing can follow them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import msgspec
from msgspec import Struct

from clew.store.sqlite.database import Database
from clew.store.values import Branch

__all__ = ["tree"]

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
    starts = [answer for answer in answers.values() if _starts(answer, answers, next_of)]
    return [_branch(start, answers, next_of, main) for start in starts]


def _starts(answer: _Answer, answers: Mapping[str, _Answer], next_of: Mapping[str, Sequence[_Answer]]) -> bool:
    before = answers.get(answer.followed)
    return before is None or before.thread != answer.thread or len(next_of[answer.followed]) > 1


def _branch(
    start: _Answer,
    answers: Mapping[str, _Answer],
    next_of: Mapping[str, Sequence[_Answer]],
    main: Sequence[_Answer],
) -> Branch:
    stretch = [start, *_rest(start, next_of)]
    before = answers.get(start.followed) or _sender(start, main)
    return Branch(
        thread=start.thread,
        agent=start.agent,
        after=before.exchange if before else "",
        exchanges=tuple(answer.exchange for answer in stretch),
        began=start.started,
        ended=stretch[-1].ended,
    )


def _rest(start: _Answer, next_of: Mapping[str, Sequence[_Answer]]) -> Iterator[_Answer]:
    following = next_of.get(start.id, ())
    while len(following) == 1 and following[0].thread == start.thread:
        yield following[0]
        following = next_of.get(following[0].id, ())


def _sender(start: _Answer, main: Sequence[_Answer]) -> _Answer | None:
    """The answer of the main thread that sent this agent: the last that was whole before the agent began."""
    if not start.agent or not main or main[0].thread == start.thread:
        return None
    return next((answer for answer in reversed(main) if answer.ended <= start.started), None)
