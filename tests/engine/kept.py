"""What the store has of an exchange, waited for where nobody else waits for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from clew.model.recording import Recording
from clew.model.turn import Exchange
from clew.store.sqlite.store import SqliteStore
from tests.engine.gate import Answer, Gate
from tests.waiting import until

__all__ = ["eventually", "exchange_of", "exchanges_of", "once_over", "recording_of", "store_of"]

T = TypeVar("T")
SECONDS = 120.0


def eventually(look: Callable[[], T | None]) -> T:
    """The first thing that is there."""
    found: list[T | None] = [None]

    def is_there() -> bool:
        found[0] = look()
        return found[0] is not None

    until(is_there)
    assert found[0] is not None
    return found[0]


def store_of(gate: Gate) -> SqliteStore:
    assert gate.store is not None
    return gate.store


def exchange_of(gate: Gate, answer: Answer, principal: str = "local") -> Exchange:
    """What happened to this one. An answer that is not whole is kept without anybody waiting for it."""
    return once_over(gate, answer.headers["x-clew-exchange"], principal)


def once_over(gate: Gate, exchange: str, principal: str = "local") -> Exchange:
    """The same by its name. One that takes its time is there as open, before."""

    def look() -> Exchange | None:
        found = store_of(gate).exchange(principal, exchange)
        return found if found is not None and found.outcome != "open" else None

    return eventually(look)


def exchanges_of(gate: Gate, count: int, principal: str = "local") -> list[Exchange]:
    """All of them, the newest first, once there are so many."""

    def look() -> list[Exchange] | None:
        found = store_of(gate).exchanges(principal)
        return found if len(found) >= count and all(each.outcome != "open" for each in found) else None

    return eventually(look)


def recording_of(gate: Gate, exchange: str, principal: str = "local") -> Recording | None:
    return store_of(gate).recordings(principal).by_id(exchange)
