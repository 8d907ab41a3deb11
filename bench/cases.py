"""What is measured: the table of loads, each with the most that it may cost in times of nginx's CPU.

`goal` is for clew as it comes, `goal_off` for clew with its store off; 0: there is none. `answer` names what the backend
says (see `traffic`); `history` is how many bytes of an agent's history are sent, else it is a question. With `fresh` every
request is a conversation that was never seen, else only its last words are new.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["BESIDE", "CASES", "FIRST", "MANY", "SESSION", "Case"]

PACE = 10
"""Milliseconds between two events of a paced stream."""
MANY, FEW = 50, 10
"""Streams at a time: 5,000 and 1,000 events a second."""
COUNTERS = 26
"""As many counts as Claude Code asks for at once."""


@dataclass(frozen=True)
class Case:
    """One kind of load. Without a number of requests, as many as take about a slice of time."""

    key: str
    name: str
    answer: str = "stream"
    pace: int = 0
    connections: int = 8
    requests: int = 0
    history: int = 0
    fresh: bool = False
    tls: bool = False
    counts: bool = False
    goal: float = 0.0
    goal_off: float = 0.0

    front: str = "messages"
    """The dialect of the client: `messages` or `responses`."""

    @property
    def backend(self) -> str:
        """The dialect of the backend, where it is not the Messages API."""
        return next((name for name in ("chat", "responses") if self.answer.startswith(name)), "")


def _paced(key: str, name: str, answer: str, streams: int, **more: float | bool | str) -> Case:
    at = f"{name}, paced, {streams * 1000 // PACE:,} events/s"
    return Case(key, at, answer, PACE, streams, streams, **more)  # pyright: ignore[reportArgumentType]


RESPONSES = "stream of 300 events of Responses"
WATCHED, TRANSLATED = "stream of 300 events", "stream of 300 chunks, translated"
SESSION = Case("session", "an agent's session of 40 turns", "agent", goal=5)
CASES = (
    Case("json", "small JSON, one after the other", "json", connections=1),
    Case("json-many", "small JSON, 8 connections", "json", goal=10, goal_off=4),
    Case("stream", f"{WATCHED}, in one burst", goal=6, goal_off=4),
    Case("translated", f"{TRANSLATED}, in one burst", "chat", goal=8, goal_off=7),
    Case("big", "request of 1 MB, never seen", "agent", history=1_000_000, fresh=True, goal=6),
    Case("big-known", "request of 1 MB, next turn", "agent", history=1_000_000, goal=2.5, goal_off=2),
    Case("huge", "request of 4 MB, never seen", "agent", history=4_000_000, fresh=True),
    Case("huge-known", "request of 4 MB, next turn", "agent", history=4_000_000),
    _paced("paced-few", WATCHED, "stream", FEW),
    _paced("paced", WATCHED, "stream", MANY, goal=1.6, goal_off=1.5),
    _paced("translated-few", TRANSLATED, "chat", FEW),
    _paced("translated-paced", TRANSLATED, "chat", MANY, goal=1.7),
    _paced("paced-tls", f"{WATCHED}, over TLS", "stream", MANY, tls=True),
    _paced("translated-tls", f"{TRANSLATED}, over TLS", "chat", MANY, tls=True),
    Case("stream-tls", f"{WATCHED}, over TLS, in one burst", tls=True),
    Case("tools", "call of a tool in 300 events, in one burst", "tools"),
    Case("translated-tools", "call of a tool in 300 chunks, translated, in one burst", "chat-tools"),
    Case("responses", f"{RESPONSES}, to a client of it, in one burst", "responses", front="responses"),
    _paced("responses-paced", f"{RESPONSES}, to a client of it", "responses", MANY, front="responses"),
    Case("responses-front", f"{WATCHED}, to a client of Responses, in one burst", "stream", front="responses"),
    Case("responses-back", f"{RESPONSES}, translated, in one burst", "responses"),
    Case("counts", f"{COUNTERS} counts of tokens at a time", "json", connections=COUNTERS, counts=True),
)
FIRST = Case("first", "time to first content", "short", connections=1, requests=300)
BESIDE = Case("beside", "sessions that go on meanwhile", "agent", PACE, 20, history=1_000_000)
"""Their answers come at the pace of a model, so that a turn of each takes three seconds."""
