"""Which thinking blocks requests have brought lately, so that the store is told once a minute and not with every request."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

__all__ = ["Seen"]

MOST = 20_000
AGAIN = 60.0
"""Seconds after which it is news again: as coarse as the store's own marks."""


class Seen:
    """Bounded; the longest known goes first."""

    def __init__(self) -> None:
        self._at: OrderedDict[tuple[str, bytes], float] = OrderedDict()

    def news(self, principal: str, keys: Iterable[bytes], now: float) -> tuple[bytes, ...]:
        """Those that were not told of, or not for a while; from now on they were."""
        fresh = tuple(key for key in keys if self._at.get((principal, key), -AGAIN) <= now - AGAIN)
        for key in fresh:
            self._at[principal, key] = now
            self._at.move_to_end((principal, key))
        while len(self._at) > MOST:
            self._at.popitem(last=False)
        return fresh
