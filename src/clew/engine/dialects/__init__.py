"""Dialects on the backend's side: how its requests are written and its answers read. Each is one module and one line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from clew.backends.row import Backend
from clew.engine.dialects.messages import Messages
from clew.engine.dialects.openai_chat import OpenAIChat
from clew.engine.dialects.refused import Refused
from clew.engine.dialects.shape import KEEP, NO_HINTS, UNSAID, Dialect, Hints, Recalled, Remembered, Repair, Written
from clew.errors import SettingsInvalid

__all__ = [
    "DIALECTS",
    "KEEP",
    "NO_HINTS",
    "UNSAID",
    "Dialect",
    "Hints",
    "Recalled",
    "Refused",
    "Remembered",
    "Repair",
    "Written",
    "dialect_of",
]

DIALECTS: Final[Mapping[str, Callable[[Backend, str], Dialect]]] = {
    "anthropic": Messages,
    "openai-chat": OpenAIChat.of,
}


def dialect_of(backend: Backend, model: str) -> Dialect:
    """How to talk to this backend about this model of its own. Raises SettingsInvalid for a dialect that nobody speaks."""
    made = DIALECTS.get(backend.dialect)
    if made is None:
        known = ", ".join(DIALECTS)
        raise SettingsInvalid(
            f"{backend.name}: there is no dialect {backend.dialect!r}; there are: {known}", key=backend.name
        )
    return made(backend, model)
