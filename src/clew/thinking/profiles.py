"""Profiles: the facts about the model that a request goes to, found by its name, with the user's own rows on top.

A profile is a row of the table of models under the reader's own id. A name that no row fits gets the unknown model's row;
the fit is the most specific one, and never crosses a version number (Opus 5.7 is not Opus 5).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from clew.model.facts import ModelFacts, canonical_model, model_facts, models
from clew.model.facts.models import resolve

__all__ = ["Profile", "canonical_model", "merge_overrides", "profile_for", "reads"]

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
    """Whether this reader can read that model's thinking (R43). Its own always; a pair that nobody published, no."""
    other = canonical_model(other_model, overrides)
    return other == reader.id or other in reader.reads
