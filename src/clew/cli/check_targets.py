"""For whom `check` looks: what each name of `--for` means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from clew.backends.row import target_of
from clew.model.facts import ModelFacts
from clew.model.origin import ANTHROPIC
from clew.model.target import Target
from clew.settings.values import Settings
from clew.thinking.profiles import canonical_model, profile_for

__all__ = ["targets_for"]

Rows: TypeAlias = Mapping[str, ModelFacts] | None
"""What is known of models, with the operator's rows on top; None: ours alone."""


def targets_for(names: Sequence[str], own_model: str, settings: Settings | None = None) -> dict[str, Target]:
    """What each name of `--for` means.

    A backend of the settings, a Claude model, `anthropic` for the model that is asked for, or another vendor's realm.
    Without any name it is the model that is asked for, whatever it is called: the request is in Anthropic's dialect.
    """
    rows = settings.models if settings else None
    if not names:
        return {own_model or ANTHROPIC: _claude(own_model, rows)}
    return {name: _configured(name, own_model, settings) or _target(name, own_model, rows) for name in names}


def _configured(name: str, own_model: str, settings: Settings | None) -> Target | None:
    if settings is None or name not in settings.backends:
        return None
    return target_of(settings.backends[name], own_model, overrides=settings.models, foreign=settings.thinking.foreign)


def _target(name: str, own_model: str, rows: Rows) -> Target:
    if name == ANTHROPIC or canonical_model(name, rows).startswith("claude"):
        return _claude(own_model if name == ANTHROPIC else name, rows)
    return Target(backend=name, model=name, profile=profile_for(name, rows), realm=name)


def _claude(model: str, rows: Rows) -> Target:
    return Target(backend=ANTHROPIC, model=model, profile=profile_for(model, rows))
