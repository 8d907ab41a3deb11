"""How much to think, in the words of each kind of OpenAI-style backend. The columns are explained in `efforts.toml`.

A knob answers for every level: it has words for it, or says which level that it has words for is meant. So rounding is
data, and what was rounded can be told.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final, Literal, TypeAlias

from msgspec import Struct, convert

from clew.errors import SettingsInvalid
from clew.model.facts.tables import read_table, to_rows
from clew.model.json import JsonValue

__all__ = ["LEVELS", "RANKED", "Knob", "Level", "bands", "knob", "knobs", "level_of_budget"]

Level: TypeAlias = Literal["off", "minimal", "low", "medium", "high", "xhigh", "max", "auto"]

RANKED: Final[tuple[Level, ...]] = ("minimal", "low", "medium", "high", "xhigh", "max")
"""The levels that compare, from least to most."""

LEVELS: Final[tuple[Level, ...]] = ("off", *RANKED, "auto")

_EFFORTS: Final = "efforts.toml"


class Knob(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One kind of backend's words for how much to think."""

    name: str
    says: dict[Level, dict[str, JsonValue]]
    rounds: dict[Level, Level] = {}
    budget: tuple[str, ...] = ()
    alone: bool = False
    """Whether a budget stands instead of what `auto` says, not beside it."""
    floor: int = 1
    ceiling: int | None = None
    sources: tuple[str, ...] = ()

    def meant(self, level: Level) -> Level:
        """The level that is said for this one."""
        return self.rounds.get(level, level)


@cache
def knobs() -> Mapping[str, Knob]:
    return to_rows(Knob, read_table(_EFFORTS)["knob"], file=_EFFORTS)


def knob(name: str) -> Knob:
    """The knob of this name; SettingsInvalid, with those there are, if there is none."""
    found = knobs().get(name)
    if found is None:
        raise SettingsInvalid(f"no knob {name!r}; there are {', '.join(knobs())}", file=_EFFORTS, key=name)
    return found


@cache
def bands() -> tuple[tuple[int, Level], ...]:
    """From how many tokens on a budget is which level, the highest first."""
    floors = convert(read_table(_EFFORTS)["bands"], dict[Level, int])
    return tuple(sorted(((floor, level) for level, floor in floors.items()), reverse=True))


def level_of_budget(tokens: int) -> Level:
    """The level whose band holds a budget."""
    return next(level for floor, level in bands() if tokens >= floor)
