"""The newest answer in a history that a reader made itself: what it remembers of how it was asked holds for the next."""

from __future__ import annotations

from collections.abc import Sequence

from clew.model.recording import Recording
from clew.model.target import Target
from clew.thinking.recognise import RecognisedAnswer

__all__ = ["newest_made"]


def newest_made(found: Sequence[RecognisedAnswer], target: Target) -> tuple[int, Recording | None]:
    """Its place in `found`, and its recording; None where there is no such answer."""
    for at in range(len(found) - 1, -1, -1):
        made = found[at].recording
        if made and (made.origin.backend, made.origin.model) == (target.backend, target.model):
            return at, made
    return 0, None
