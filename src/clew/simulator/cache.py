"""The prompt cache, simply: which prefixes an account had marked before (R58).

A mark writes an entry for the prefix that it ends, if that is long enough for the model; a later request reads the longest
entry that ends at most twenty segments before one of its own marks. Entries last five minutes or an hour from their last
use. A different tool, system text or earlier block is a different prefix, and misses.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import Final

import msgspec

from clew.model.json import JsonObject
from clew.simulator.tokens import Segment, segments

__all__ = ["CacheUse", "PromptCache"]

_LOOKBACK: Final = 20
_SECONDS: Final = {"5m": 300.0, "1h": 3600.0}


@dataclass(frozen=True, slots=True)
class CacheUse:
    """What one request read from the cache and wrote to it, in tokens."""

    read: int = 0
    written_5m: int = 0
    written_1h: int = 0

    def within(self, total: int) -> CacheUse:
        """The same, but no more than the whole prompt: the parts of the input add up to it (R73)."""
        read = min(self.read, total)
        written_1h = min(self.written_1h, total - read)
        return CacheUse(read, min(self.written_5m, total - read - written_1h), written_1h)


@dataclass(frozen=True, slots=True)
class _Edge:
    """The end of a segment: the prefix up to here."""

    digest: bytes
    tokens: int
    ttl: str | None


class PromptCache:
    """All entries of one simulator. `clock` counts seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._expiry: dict[bytes, float] = {}

    def use(self, request: JsonObject, *, owner: str, minimum: int, without: Set[str] = frozenset()) -> CacheUse:
        """Read and write for one request of this owner (account and model), without the segments at these paths."""
        edges = _edges(request, owner, without)
        marks = [i for i, edge in enumerate(edges) if edge.ttl and edge.tokens >= minimum]
        if not marks:
            return CacheUse()
        read = max((self._found(edges, mark) for mark in marks), default=0)
        written = {"5m": 0, "1h": 0}
        done = read
        for mark in marks:
            edge = edges[mark]
            ttl = edge.ttl or "5m"
            written[ttl] += max(0, edge.tokens - done)
            done = max(done, edge.tokens)
            self._expiry[edge.digest] = self._clock() + _SECONDS[ttl]
        return CacheUse(read=read, written_5m=written["5m"], written_1h=written["1h"])

    def reset(self) -> None:
        self._expiry.clear()

    def _found(self, edges: Sequence[_Edge], mark: int) -> int:
        for edge in reversed(edges[max(0, mark - _LOOKBACK + 1) : mark + 1]):
            if self._expiry.get(edge.digest, 0) > self._clock():
                return edge.tokens
        return 0


def _edges(request: JsonObject, owner: str, without: Set[str]) -> list[_Edge]:
    found: list[_Edge] = []
    rolling = hashlib.sha256(owner.encode())
    tokens = 0
    for segment in segments(request):
        if segment.path in without:
            continue
        rolling.update(f"\n{segment.role}\n".encode())
        rolling.update(msgspec.json.encode(segment.value, order="sorted"))
        tokens += segment.tokens
        found.append(_Edge(rolling.digest(), tokens, _ttl(segment)))
    automatic = request.get("cache_control")
    if isinstance(automatic, dict) and found:
        found[-1] = _Edge(found[-1].digest, found[-1].tokens, _lifetime(automatic))
    return found


def _ttl(segment: Segment) -> str | None:
    return None if segment.mark is None else _lifetime(segment.mark)


def _lifetime(mark: JsonObject) -> str:
    return "1h" if mark.get("ttl") == "1h" else "5m"
