"""What a backend of dialect `openai-chat` wants to be sent, and how it answers, for one of its models."""

from __future__ import annotations

from typing import Final

from msgspec import structs

from clew.backends.row import Backend, manner_of
from clew.dialects.openai_chat.options import ChatOptions

__all__ = ["COMPLETIONS", "options_of", "path_of"]

COMPLETIONS: Final = "/chat/completions"


def options_of(backend: Backend, model: str) -> ChatOptions:
    """For the backend's own name of the model. What it wants in place of missing reasoning is a quirk, and only there."""
    manner = manner_of(backend, model)
    missing, wire = manner.quirks.missing, manner.wire
    wire = wire if wire.missing == missing else structs.replace(wire, missing=missing)
    return ChatOptions(wire, manner.speech)


def path_of(backend: Backend) -> str:
    """What is appended to its base, with a query if the vendor wants one."""
    return backend.path or COMPLETIONS
