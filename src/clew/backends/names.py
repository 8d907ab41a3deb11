"""Model names: which of a backend's models a client means, and what the client calls it.

A client asks for `claude-opus-5-5-20260801[1m]`; a backend that is not Anthropic has another name for the model it would use
instead. The mapping goes by the exact name, then by the name without date and suffix, then by the family, then by the
backend's one model. A name that is the backend's own is left alone, so that a client may also ask for it directly.

An *alias* is a name under which a client can ask for a backend itself, whatever is active: `anthropic/glm`,
`anthropic/glm/glm-4.6`. Claude Code offers only those of a gateway's models whose names begin with `claude` or `anthropic`.
So every backend that is not Anthropic gets such a name, and each of its models one behind it.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from clew.model.facts import canonical_model
from clew.model.origin import ANTHROPIC

if TYPE_CHECKING:
    from clew.backends.row import Backend


Family: TypeAlias = Literal["opus", "sonnet", "haiku", "fable", "mythos", ""]

FAMILIES: Final[tuple[Family, ...]] = ("opus", "sonnet", "haiku", "fable", "mythos")

_WORD: Final = re.compile(r"[a-z]+")
_LONGEST: Final = 256
"""No model has a longer name; the rest is neither read nor kept."""


def family_of(asked: str) -> Family:
    """The family that a Claude model belongs to by its name; "" for any other name."""
    return _meaning(asked[:_LONGEST])[1]


def model_in(models: Mapping[str, str], model: str, asked: str) -> str:
    """The name of the model that a backend with these names uses for `asked`."""
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
    """The canonical name and the family. Cached, since clients ask for the same few names all day."""
    canonical = canonical_model(asked)
    words = _WORD.findall(canonical.lower())
    if "claude" not in words and len(words) > 1:
        return canonical, ""
    found: list[Family] = [family for family in FAMILIES if family in words]
    return canonical, found[0] if found else ""


_PREFIX: Final = "anthropic/"


def alias_of(backend: str, model: str = "") -> str:
    return f"{_PREFIX}{backend}/{model}" if model else f"{_PREFIX}{backend}"


def backend_aliases(backends: Mapping[str, Backend]) -> dict[str, tuple[str, str]]:
    """Every alias that there is, with its backend and the backend's own name of the model; "" leaves that open."""
    found: dict[str, tuple[str, str]] = {}
    for name, backend in backends.items():
        if backend.realm != ANTHROPIC:
            found[alias_of(name)] = (name, backend.model)
            models = dict.fromkeys([backend.model, *backend.models.values()])
            found |= {alias_of(name, model): (name, model) for model in models if model}
    return found


def backend_of_alias(asked: str, backends: Container[str]) -> tuple[str, str] | None:
    """The backend and model that an alias means; None for any other name."""
    name, _, model = asked.removeprefix(_PREFIX).partition("/")
    return (name, model) if asked.startswith(_PREFIX) and name in backends else None
