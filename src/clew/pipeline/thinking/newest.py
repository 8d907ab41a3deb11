"""The newest answer in a history that a reader made itself: what it remembers of how it was asked holds for the next."""

from __future__ import annotations

from collections.abc import Sequence

from clew.model.target import Target
from clew.pipeline.step import Facts
from clew.thinking.recognise import Found
from clew.thinking.strands import resolve

__all__ = ["newest_row"]

_NOTHING = frozenset[bytes]()


def newest_row(found: Sequence[Found], target: Target, facts: Facts) -> tuple[int, frozenset[bytes]]:
    """Its place in `found`, and the keys and marks that went ahead of it; none where there is no such answer."""
    for at in range(len(found) - 1, -1, -1):
        made = found[at].recording
        if made and (made.origin.backend, made.origin.model) == (target.backend, target.model):
            return at, frozenset(resolve(made, facts.recordings))
    return 0, _NOTHING
