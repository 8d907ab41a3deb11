"""What is counted of exchanges, added up by hand: for each backend one row of plain numbers.

Every answer of every gateway passes here, so it is no more than a few additions; names and labels are put on when somebody
asks (`metrics`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from clew.model.change import THINKING_STEPS
from clew.store.values import Exchange

__all__ = ["FIRST_BYTE", "WHOLE", "Sums", "Times"]

FIRST_BYTE: Final = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0, 120.0)
WHOLE: Final = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)

_TOKENS: Final = ("input", "output", "cache_read", "cache_written")
_THINKING: Final = {"restored": "restored", "left out": "left_out", "handed over": "handed_over", "healed": "healed"}


class Times:
    """How many took how long: by the first bound that they keep, and in all."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(self.bounds, seconds)] += 1
        self.total += seconds

    def rising(self) -> list[tuple[str, float]]:
        """Each bound, and how many kept it."""
        rows: list[tuple[str, float]] = []
        reached = 0
        for bound, count in zip((*self.bounds, "+Inf"), self.counts, strict=True):
            reached += count
            rows.append((str(bound), reached))
        return rows


class Sums:
    """What is counted of one backend's exchanges."""

    __slots__ = ("first_byte", "requests", "seconds", "thinking", "tokens")

    def __init__(self) -> None:
        self.requests: defaultdict[tuple[str, str, int], int] = defaultdict(int)
        """By kind, outcome and status."""
        self.tokens: dict[str, int] = {}
        self.thinking: dict[str, int] = {"kept": 0}
        self.first_byte = Times(FIRST_BYTE)
        self.seconds = Times(WHOLE)

    def add(self, exchange: Exchange) -> None:
        self.requests[exchange.kind, exchange.outcome, exchange.status] += 1
        self.seconds.add(max(0.0, exchange.ended - exchange.started))
        if exchange.first_byte is not None:
            self.first_byte.add(exchange.first_byte)
        if (usage := exchange.usage) is not None:
            self._add_tokens((usage.input, usage.output, usage.cache_read, usage.cache_written))
        self._add_thinking(exchange)

    def _add_tokens(self, counts: Sequence[int]) -> None:
        tokens = self.tokens
        for name, count in zip(_TOKENS, counts, strict=True):
            tokens[name] = tokens.get(name, 0) + count

    def _add_thinking(self, exchange: Exchange) -> None:
        self.thinking["kept"] += exchange.kept
        for change in exchange.changes:
            if change.step in THINKING_STEPS and change.what in _THINKING:
                action = _THINKING[change.what]
                self.thinking[action] = self.thinking.get(action, 0) + change.count
