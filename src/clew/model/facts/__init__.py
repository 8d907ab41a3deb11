"""Facts about the vendor, as tables: rules, stances, models, betas, fields, blocks.

They are data, with source and date, because they change without us, and because two independent judges read them: the
simulator and the compliance check. Each file says in its head what its columns mean. All are read once and never change.
"""

from clew.model.facts.models import (
    UNKNOWN,
    Effort,
    ModelFacts,
    ThinkingType,
    canonical_model,
    display_name,
    models,
    profile_for,
)
from clew.model.facts.rules import PHASES, Conflict, Grade, Phase, Rule, default_stances, path_order, rules, stances
from clew.model.facts.shapes import Beta, BlockFacts, Field, Fields, Kind, Shape, Union, betas, blocks, fields

__all__ = [
    "PHASES",
    "UNKNOWN",
    "Beta",
    "BlockFacts",
    "Conflict",
    "Effort",
    "Field",
    "Fields",
    "Grade",
    "Kind",
    "ModelFacts",
    "Phase",
    "Rule",
    "Shape",
    "ThinkingType",
    "Union",
    "betas",
    "blocks",
    "canonical_model",
    "default_stances",
    "display_name",
    "fields",
    "models",
    "path_order",
    "profile_for",
    "rules",
    "stances",
]
