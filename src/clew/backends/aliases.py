"""Names under which a client can ask for a backend itself, whatever is active: `anthropic/glm`, `anthropic/glm/glm-4.6`.

Claude Code offers of a gateway's models only those whose names begin with `claude` or `anthropic`. So every backend that is
not Anthropic gets such a name, and each of its models one behind it.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Final

from clew.backends.row import Backend
from clew.model.origin import ANTHROPIC

__all__ = ["alias_of", "aliases", "meant_by"]

_PREFIX: Final = "anthropic/"


def alias_of(backend: str, model: str = "") -> str:
    return f"{_PREFIX}{backend}/{model}" if model else f"{_PREFIX}{backend}"


def aliases(backends: Mapping[str, Backend]) -> dict[str, tuple[str, str]]:
    """Every alias that there is, with its backend and the backend's own name of the model; "" leaves that open."""
    found: dict[str, tuple[str, str]] = {}
    for name, backend in backends.items():
        if backend.realm != ANTHROPIC:
            found[alias_of(name)] = (name, backend.model)
            models = dict.fromkeys([backend.model, *backend.models.values()])
            found |= {alias_of(name, model): (name, model) for model in models if model}
    return found


def meant_by(asked: str, backends: Container[str]) -> tuple[str, str] | None:
    """The backend and model that an alias means; None for any other name."""
    name, _, model = asked.removeprefix(_PREFIX).partition("/")
    return (name, model) if asked.startswith(_PREFIX) and name in backends else None
