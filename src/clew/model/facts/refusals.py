"""How refusals for thinking are worded. The columns are explained in `refusals.toml`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, cached_property
from typing import Final, Literal, TypeAlias, cast

from msgspec import Struct

from clew.model.facts.tables import read_table, to_row

ThinkingRule: TypeAlias = Literal["R33", "R34", "R35", "R37", "R38", "R44"]
"""The rules about thinking for which a request can be repaired."""

_REFUSALS: Final = "refusals.toml"


class RefusalWords(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """Words that refuse a request under one rule."""

    rule: ThinkingRule
    words: tuple[str, ...]
    sources: tuple[str, ...]

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(f"(?:{each})" for each in self.words), re.IGNORECASE)


@cache
def thinking_refusals() -> tuple[RefusalWords, ...]:
    """All known wordings, in the order in which they are tried."""
    rows = cast("list[Mapping[str, object]]", read_table(_REFUSALS)["refusal"])
    return tuple(to_row(RefusalWords, row, file=_REFUSALS, key=f"refusal.{place}") for place, row in enumerate(rows))
