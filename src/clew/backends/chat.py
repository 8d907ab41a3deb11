"""What a backend of dialect `openai-chat` wants to be sent, and how it answers, for one of its models."""

from __future__ import annotations

from typing import Final

from msgspec import structs

from clew.backends.manner import Speech, Wire
from clew.backends.row import Backend, manner_of

__all__ = ["COMPLETIONS", "path_of", "speech_of", "wire_of"]

COMPLETIONS: Final = "/chat/completions"


def wire_of(backend: Backend, model: str) -> Wire:
    """For the backend's own name of the model. What it wants in place of missing reasoning is a quirk, and only there."""
    manner = manner_of(backend, model)
    missing = manner.quirks.missing
    return manner.wire if manner.wire.missing == missing else structs.replace(manner.wire, missing=missing)


def speech_of(backend: Backend, model: str) -> Speech:
    """For the backend's own name of the model."""
    return manner_of(backend, model).speech


def path_of(backend: Backend) -> str:
    """What is appended to its base, with a query if the vendor wants one."""
    return backend.path or COMPLETIONS
