"""Effort levels, and what they are worth in tokens.

Older models take a budget, newer ones a level; a request for one kind must be said to the other. The bands are those on
which public gateways agree (1024 is low, 8192 medium, 24576 high); `max` has no number of its own, it is whatever the model
allows.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["AUTO", "LEVELS", "budget_of", "is_above", "level_of", "nearest"]

LEVELS = ("low", "medium", "high", "xhigh", "max")
"""From least to most."""

AUTO = 16_384
"""The budget for "think as you see fit": adaptive without a level."""

_BANDS = ((32_768, "xhigh"), (16_384, "high"), (4096, "medium"))
_BUDGETS = {"low": 2048, "medium": 8192, "high": 24_576, "xhigh": 32_768}


def level_of(budget: int) -> str:
    """The level whose band holds a budget."""
    return next((level for floor, level in _BANDS if budget >= floor), "low")


def budget_of(level: str | None, *, ceiling: int) -> int:
    """A budget for a level; `ceiling` is the most that the model and the request allow. None, or an unknown level: AUTO."""
    if level == "max":
        return ceiling
    return _BUDGETS.get(level or "", AUTO)


def nearest(level: str, supported: Sequence[str]) -> str:
    """The highest supported level at or below this one, else the lowest; the level itself if nobody knows it."""
    if level not in LEVELS or not supported:
        return level
    ranked = [each for each in LEVELS if each in supported]
    below = [each for each in ranked if not is_above(each, level)]
    return (below or ranked[:1] or [level])[-1]


def is_above(level: str, limit: str) -> bool:
    """Whether a level is higher than a limit. Unknown ones are not comparable, and above nothing."""
    return level in LEVELS and limit in LEVELS and LEVELS.index(level) > LEVELS.index(limit)
