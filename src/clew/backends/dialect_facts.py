"""What the row of a backend says that its dialect needs, for one of its models."""

from __future__ import annotations

from msgspec import structs

from clew.backends.row import Backend, manner_of
from clew.dialects.openai_chat.options import ChatOptions, options_of
from clew.dialects.shape import BackendFacts
from clew.model.origin import ANTHROPIC


def facts_of(backend: Backend, model: str) -> BackendFacts:
    """For the backend's own name of the model. What it wants in place of missing reasoning is a quirk, and only there."""
    manner, quirks = manner_of(backend, model), backend.quirks
    missing, wire = manner.quirks.missing, manner.wire
    return BackendFacts(
        is_first_party=backend.realm == ANTHROPIC,
        betas=quirks.betas,
        overlaps=quirks.overlaps,
        tables={
            "wire": wire if wire.missing == missing else structs.replace(wire, missing=missing),
            "speech": manner.speech,
        },
    )


def chat_options_of(backend: Backend, model: str) -> ChatOptions:
    """The options of a backend that speaks `openai-chat`."""
    return options_of(facts_of(backend, model))
