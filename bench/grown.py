"""The large requests: for each target a session that has grown on it, so that one which keeps answers has kept its own."""

from __future__ import annotations

from collections.abc import Sequence

from cases import Case
from claude_code import PATH, ClaudeCode
from measuring import Bench
from progress import say
from sessions import FIRST_NUMBER, Caller, Session, name_of

__all__ = ["TURNS", "grow", "grown"]

TURNS = 80
AROUND = 45_000
"""Bytes of such a request around its messages."""
ANSWER = 8_000
"""Bytes of one answer."""


def grow(bench: Bench, cases: Sequence[Case]) -> None:
    """Let each target hear the sessions that these cases need, and put the next turn of each into their loads."""
    client = ClaudeCode("agent")
    for place, size in enumerate(sorted({case.history for case in cases if case.history}), 1):
        for target in bench.targets:
            session = grown(client, FIRST_NUMBER - place, size)
            caller = Caller(target, session)
            for _ in range(TURNS):
                caller.turn()
            caller.close()
            say(f"a session of {size:,} bytes with {target.name}")
            for case in cases:
                if case.history == size:
                    name = name_of(0 if case.fresh else session.number)
                    body = session.counted(fresh=case.fresh).replace(b" pace:0", b" pace:%d" % case.pace)
                    bench.loads.put(case, target, body, PATH, client.headers(name))


def grown(client: ClaudeCode, number: int, size: int) -> Session:
    """A session that has so many bytes after its turns."""
    return Session(client, number, (size - AROUND) // TURNS - ANSWER)
