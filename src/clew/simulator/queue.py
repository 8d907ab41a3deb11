"""Faults in waiting: each for so many of the next requests on a path."""

from __future__ import annotations

from collections import deque

from clew.simulator.faults import Fault

__all__ = ["FaultQueue"]


class FaultQueue:
    """First in, first out, path by path; one fault for one request."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[Fault]] = {}

    def put(self, fault: Fault, *, times: int = 1, path: str = "/v1/messages") -> None:
        """Let the next requests on this path go wrong."""
        self._waiting.setdefault(path, deque()).extend([fault] * times)

    def take(self, path: str) -> Fault | None:
        """The fault for the request that just came, if any."""
        waiting = self._waiting.get(path)
        return waiting.popleft() if waiting else None

    def waiting(self) -> dict[str, int]:
        """How many are left, by path."""
        return {path: len(faults) for path, faults in self._waiting.items() if faults}

    def reset(self) -> None:
        self._waiting.clear()
