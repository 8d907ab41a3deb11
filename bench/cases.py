"""What is measured: the table of loads, each with the ratio to nginx that is promised and the one that is aimed at.

`answer` names what the backend says (see `traffic`); `history` is how many bytes of an agent's history are sent, else it is
a question. With `fresh` every request is a conversation that was never seen, else only its last words are new.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ALONE", "CASES", "FIRST", "Case"]

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
    aim: float = 0.0

    @property
    def translated(self) -> bool:
        return self.answer.startswith("chat")

    @property
    def promise(self) -> str:
        """Both, as a cell."""
        said = [f"≤ {self.goal:g}×"] if self.goal else []
        return "; ".join([*said, *([f"aim {self.aim:g}×"] if self.aim else [])])


def _paced(key: str, name: str, answer: str, streams: int, **more: float | bool) -> Case:
    at = f"{name}, paced, {streams * 1000 // PACE:,} events/s"
    return Case(key, at, answer, PACE, streams, streams, **more)  # pyright: ignore[reportArgumentType]


WATCHED, TRANSLATED = "stream of 300 events", "stream of 300 chunks, translated"
CASES = (
    Case("json", "small JSON", "json", goal=3, aim=2),
    Case("stream", f"{WATCHED}, in one burst", goal=4.5, aim=3),
    _paced("paced", WATCHED, "stream", MANY, goal=1.5, aim=1.25),
    _paced("paced-few", WATCHED, "stream", FEW),
    _paced("paced-tls", f"{WATCHED}, over TLS", "stream", MANY, tls=True, aim=1.5),
    Case("stream-tls", f"{WATCHED}, over TLS, in one burst", tls=True),
    Case("tools", "call of a tool in 300 events, in one burst", "tools"),
    Case("translated", f"{TRANSLATED}, in one burst", "chat", goal=8, aim=6),
    _paced("translated-paced", TRANSLATED, "chat", MANY, goal=1.6, aim=1.35),
    _paced("translated-few", TRANSLATED, "chat", FEW),
    _paced("translated-tls", f"{TRANSLATED}, over TLS", "chat", MANY, tls=True),
    Case("translated-tools", "call of a tool in 300 chunks, translated, in one burst", "chat-tools"),
    Case("big", "request of 1 MB, never seen", history=1_000_000, fresh=True, goal=9, aim=5.5),
    Case("big-known", "request of 1 MB, next turn", history=1_000_000, aim=1.7),
    Case("huge", "request of 4 MB, never seen", history=4_000_000, fresh=True),
    Case("huge-known", "request of 4 MB, next turn", history=4_000_000),
    Case("counts", f"{COUNTERS} counts of tokens at a time", "json", connections=COUNTERS, counts=True),
)
ALONE = Case("alone", f"{WATCHED}, one after the other", connections=1)
FIRST = Case("first", "time to first content", "short", connections=1, requests=300)
