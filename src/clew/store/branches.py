"""The branches of a thread, worked out from its answers.

A thread is a tree. A client that rewinds a conversation and continues from there, or asks twice at once, makes a fork: two
answers followed the same one. A branch is a row of answers of which each followed the one before, and no other answer did. A
client's sub-agents have threads of their own with the session of the main thread: each begins after the last answer of the
main thread that was complete when the sub-agent began. An answer whose predecessor was deleted begins a branch. Turns
without an answer are in no branch: nothing can follow them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from clew.store.rows import Row
from clew.store.values import Branch


class _Answer(Struct, frozen=True, array_like=True):
    id: str
    followed: str
    exchange: str
    thread: str
    agent: str
    started: float
    ended: float


def branches_of(rows: Sequence[Row], thread: str) -> list[Branch]:
    """In the order in which they began. `rows` are the answers of a thread and of its agents, oldest first: id, what it
    followed, exchange, thread, agent, start and end."""
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
