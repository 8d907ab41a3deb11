"""Profiles: the facts about the model that a request goes to, found by its name; and effort levels in tokens.

A profile is a row of the table of models under the reader's own id, with the user's own rows on top. A name that no row fits
gets the unknown model's row; the fit is the most specific one, and never crosses a version number (Opus 5.7 is not Opus 5).

Older models take a budget, newer ones an effort level, and a request for one kind must be translated for the other. The
bands are those on which public gateways agree (1024 is low, 8192 medium, 24576 high); `max` has no number of its own, it is
as much as the model allows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from clew.model.facts import ModelFacts, canonical_model, model_facts, models
from clew.model.facts.models import resolve

__all__ = [
    "AUTO_BUDGET",
    "EFFORTS",
    "Profile",
    "budget_of_effort",
    "canonical_model",
    "effort_of_budget",
    "is_above",
    "merge_overrides",
    "nearest_level",
    "profile_for",
    "reads",
]

Profile: TypeAlias = ModelFacts


def profile_for(model: str, overrides: Mapping[str, ModelFacts] | None = None) -> Profile:
    """The profile of this model. `overrides` is what `merge_overrides` made of the user's tables.

    >>> profile_for("claude-sonnet-4-5-20250929").interleaved
    'beta'
    """
    return model_facts(model, overrides)


def merge_overrides(tables: Mapping[str, object], *, file: str = "settings") -> dict[str, ModelFacts]:
    """All rows, with the user's on top: a table changes the row of its name, or adds one (`as` names what the rest is like;
    without it, the unknown model). Raises SettingsInvalid with the key that is wrong."""
    return resolve(tables, models(), file=file)


def reads(reader: Profile, other_model: str, overrides: Mapping[str, ModelFacts] | None = None) -> bool:
    """Whether this reader can read that model's thinking (R43). Its own always; an unpublished pair, no."""
    other = canonical_model(other_model, overrides)
    return other == reader.id or other in reader.reads


EFFORTS = ("low", "medium", "high", "xhigh", "max")
"""From least to most."""

AUTO_BUDGET = 16_384
"""The budget for "think as you see fit": adaptive without a level."""

_BANDS = ((32_768, "xhigh"), (16_384, "high"), (4096, "medium"))
_BUDGETS = {"low": 2048, "medium": 8192, "high": 24_576, "xhigh": 32_768}


def effort_of_budget(budget: int) -> str:
    """The level whose band holds a budget."""
    return next((level for floor, level in _BANDS if budget >= floor), "low")


def budget_of_effort(level: str | None, *, ceiling: int) -> int:
    """A budget for a level; `ceiling` is the most that the model and the request allow. None, or an unknown level: AUTO."""
    if level == "max":
        return ceiling
    return _BUDGETS.get(level or "", AUTO_BUDGET)


def nearest_level(level: str, supported: Sequence[str]) -> str:
    """The highest supported level at or below this one, else the lowest; the level itself if it is unknown."""
    if level not in EFFORTS or not supported:
        return level
    ranked = [each for each in EFFORTS if each in supported]
    below = [each for each in ranked if not is_above(each, level)]
    return (below or ranked[:1] or [level])[-1]


def is_above(level: str, limit: str) -> bool:
    """Whether a level is higher than a limit. Unknown ones are not comparable, and above nothing."""
    return level in EFFORTS and limit in EFFORTS and EFFORTS.index(level) > EFFORTS.index(limit)
