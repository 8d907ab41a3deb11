"""Where a backend that speaks the Messages API deviates from Anthropic's own."""

from __future__ import annotations

from msgspec import Struct

from clew.dialects.shape import BackendFacts


class AnthropicOptions(Struct, frozen=True, kw_only=True):
    """Filled in by a backend's row."""

    is_first_party: bool = True
    """It is one of Anthropic's hosts: its errors are passed on as they came."""
    betas: bool = True
    """It takes the header `anthropic-beta`."""
    overlaps: bool = False
    """It leaves blocks open until its answer ends."""


def options_of(facts: BackendFacts) -> AnthropicOptions:
    return AnthropicOptions(is_first_party=facts.is_first_party, betas=facts.betas, overlaps=facts.overlaps)
