"""Change: one recorded alteration. Nothing is silent (law 6)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal, TypeAlias

from msgspec import Struct

What: TypeAlias = Literal["left out", "restored", "handed over", "healed", "replaced", "added", "removed", "moved", "set"]

THINKING_STEPS: Final = frozenset({"thinking", "thinking_parameter", "heal"})
"""Steps that leave out thinking blocks, or put them back. Others leave out other things."""

MOST_CHANGES: Final = 2000
"""Of one request, each by itself. A client can send a request that needs hundreds of thousands."""
MANY_REASONS: Final = "for so many reasons that they are not told apart"


class Change(Struct, frozen=True, gc=False, omit_defaults=True, repr_omit_defaults=True):
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
    count: int = 1
    """How many places it stands for. Where a request has thousands of changes, those at the end are counted together, with
    the path of the first."""


def tally(changes: Iterable[Change]) -> dict[What, int]:
    """How many of each, in order of first appearance."""
    counts: dict[What, int] = {}
    for change in changes:
        counts[change.what] = counts.get(change.what, 0) + change.count
    return counts


def count_of(changes: Iterable[Change]) -> int:
    """How many places all of them stand for."""
    return sum([change.count for change in changes])


def bounded(changes: Sequence[Change], most: int = MOST_CHANGES) -> tuple[Change, ...]:
    """The first `most` as they are, the others counted by step, kind and reason.

    >>> bounded([Change("model", f"messages.{i}", "set", "why") for i in range(9)], 1)[1]
    Change(step='model', path='messages.1', what='set', why='why', count=8)
    """
    if len(changes) <= most:
        return tuple(changes)
    groups: dict[tuple[str, What, str], tuple[str, int]] = {}
    for change in changes[most:]:
        key = change.step, change.what, change.why
        if key not in groups and len(groups) >= most:
            key = change.step, change.what, MANY_REASONS
        path, count = groups.get(key, (change.path, 0))
        groups[key] = path, count + change.count
    return (*changes[:most], *[Change(step, path, what, why, n) for (step, what, why), (path, n) in groups.items()])
