"""Model names: which of a backend's models a client means, and what the client calls it.

A client says `claude-opus-5-5-20260801[1m]`; a backend that is not Anthropic has another name for what it would give
instead. The mapping goes by the exact name, then by the name without date and suffix, then by the family, then by the
backend's one model. A name that is the backend's own is left alone, so that a client may also ask for it directly.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from clew.model.facts import canonical_model

__all__ = ["FAMILIES", "Family", "family_of", "model_in"]

Family: TypeAlias = Literal["opus", "sonnet", "haiku", "fable", "mythos", ""]

FAMILIES: Final[tuple[Family, ...]] = ("opus", "sonnet", "haiku", "fable", "mythos")

_WORD: Final = re.compile(r"[a-z]+")
_LONGEST: Final = 256
"""No model has a longer name; what is behind that is not looked at, and not kept."""


def family_of(asked: str) -> Family:
    """The family that a Claude model belongs to by its name; "" for any other name."""
    return _meaning(asked[:_LONGEST])[1]


def model_in(models: Mapping[str, str], model: str, asked: str) -> str:
    """What `asked` is called by a backend with these names."""
    if asked in models:
        return models[asked]
    if asked == model or asked in models.values():
        return asked
    for name in _meaning(asked[:_LONGEST]):
        if name in models:
            return models[name]
    return model or asked


@lru_cache(maxsize=256)
def _meaning(asked: str) -> tuple[str, Family]:
    """The canonical name and the family. Kept, since clients ask for the same few names all day."""
    canonical = canonical_model(asked)
    words = _WORD.findall(canonical.lower())
    if "claude" not in words and len(words) > 1:
        return canonical, ""
    found: list[Family] = [family for family in FAMILIES if family in words]
    return canonical, found[0] if found else ""
