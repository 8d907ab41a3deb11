"""Faults in waiting: each for so many of the next requests on a path, of anyone or of one key."""

from __future__ import annotations

from dataclasses import dataclass

from clew.simulator.faults import Fault

__all__ = ["FaultQueue"]


@dataclass(slots=True)
class _Waiting:
    fault: Fault
    left: int | None
    key: str


class FaultQueue:
    """First in, first out, path by path; one fault for one request."""

    def __init__(self, main_path: str = "/v1/messages") -> None:
        self._main_path = main_path
        self._waiting: dict[str, list[_Waiting]] = {}

    def put(self, fault: Fault, *, times: int | None = 1, path: str = "", key: str = "") -> None:
        """Let the next requests on this path go wrong: so many, or all from now on; of this key, if one is named.

        Without a path: where conversations are asked for.
        """
        if times != 0:
            self._waiting.setdefault(path or self._main_path, []).append(_Waiting(fault, times, key))

    def take(self, path: str, key: str = "") -> Fault | None:
        """The fault for the request that just came, if any."""
        line = self._waiting.get(path, [])
        found = next((waiting for waiting in line if waiting.key in ("", key)), None)
        if found is None:
            return None
        if found.left is not None:
            found.left -= 1
        if found.left == 0:
            line.remove(found)
        return found.fault

    def waiting(self) -> dict[str, int | None]:
        """How many are left, by path; None if there is one for ever."""
        return {path: _sum(line) for path, line in self._waiting.items() if line}

    def reset(self) -> None:
        self._waiting.clear()


def _sum(line: list[_Waiting]) -> int | None:
    counts = [waiting.left for waiting in line]
    return None if None in counts else sum(count or 0 for count in counts)
