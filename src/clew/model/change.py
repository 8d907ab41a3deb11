"""Change: one recorded alteration. Nothing is silent (law 6)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, TypeAlias

from msgspec import Struct

__all__ = ["THINKING_STEPS", "Change", "What", "tally"]

What: TypeAlias = Literal["left out", "restored", "handed over", "healed", "replaced", "added", "removed", "moved", "set"]

THINKING_STEPS: Final = frozenset({"thinking", "thinking_parameter", "heal"})
"""Steps that leave out thinking blocks, or put them back. Others leave out other things."""


class Change(Struct, frozen=True):
    """What a step did, where in the client's request, and why.

    `path` is a JSON path in the client's request (`messages.3.content.0`). A value that the client did not send is named by
    the place where it was put.

    >>> change = Change("thinking", "messages.3.content.0", "left out", "made by glm")
    >>> f"{change.path} was {change.what}: {change.why}"
    'messages.3.content.0 was left out: made by glm'
    """

    step: str
    path: str
    what: What
    why: str


def tally(changes: Iterable[Change]) -> dict[What, int]:
    """How many of each, in order of first appearance."""
    counts: dict[What, int] = {}
    for change in changes:
        counts[change.what] = counts.get(change.what, 0) + 1
    return counts
