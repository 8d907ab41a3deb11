"""Where the sources disagree, and what one can assume instead. The columns are explained in `stances.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from msgspec import Struct

from clew.model.facts.tables import read_table, to_rows

__all__ = ["Conflict", "default_stances", "stances"]

_FILE: Final = "stances.toml"


class Conflict(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One question that the sources answer differently. `values` says what each answer does."""

    name: str
    switch: str
    question: str
    default: str
    sources: str
    values: dict[str, str]


@cache
def stances() -> Mapping[str, Conflict]:
    """By conflict id, C-1 … C-17."""
    return to_rows(Conflict, read_table(_FILE), file=_FILE)


@cache
def default_stances() -> Mapping[str, str]:
    """What the rule book suggests, by conflict id."""
    return {name: conflict.default for name, conflict in stances().items()}
