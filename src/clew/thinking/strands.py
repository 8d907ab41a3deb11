"""Strands: which thinking goes with a request to a reader that checks what came before a block.

New Claude models refuse a thinking block if a block of its strand is missing, or is back after it had been left out. What
was sent ahead of the last answer is therefore the only row that is known to be accepted, and the answer itself remembers it.
Let L be the newest answer that this reader made (else the newest that it reads). Up to L goes the strand of L and nothing
else: its longest unbroken tail that can be put in place. After L goes what the client sends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from clew.model.recording import Recording, Recordings, Strand

__all__ = ["longest_tail", "resolve", "strand_for"]


def resolve(recording: Recording, shelf: Recordings) -> tuple[bytes, ...]:
    """The keys that went ahead of an answer. Where a link leads to a lost recording, what lies beyond it is unknown: the
    row begins there, which is a tail of the true one, and tails are what the vendor accepts."""
    rows: list[tuple[bytes, ...]] = []
    at: Recording | None = recording
    seen: set[str] = set()
    while at is not None and at.id not in seen:
        seen.add(at.id)
        strand = at.strand
        if strand.listed is not None:
            rows.append(strand.listed)
            break
        at = shelf.by_id(strand.after) if strand.after else None
        if at is not None:
            rows.append(at.keys)
    return tuple(key for row in reversed(rows) for key in row)


def longest_tail(
    groups: Sequence[tuple[int | None, tuple[bytes, ...]]], placeable: Callable[[int, tuple[bytes, ...]], bool]
) -> frozenset[bytes]:
    """The keys of the longest unbroken tail of whole answers that can all be put in place, in the order of the history.

    A group is the index of the answer that holds these keys (None: no answer of this history does) and the keys.
    """
    tail: set[bytes] = set()
    below: int | None = None
    for index, group in reversed(groups):
        if index is None or (below is not None and index >= below) or not placeable(index, group):
            break
        tail.update(group)
        below = index
    return frozenset(tail)


def strand_for(sent: tuple[bytes, ...], last: Recording | None, shelf: Recordings) -> Strand:
    """How to remember the row that was sent: a link to the newest answer in it where that says the same, else the list."""
    if not sent:
        return Strand(listed=())
    if last is not None and resolve(last, shelf) + last.keys == sent:
        return Strand(after=last.id)
    return Strand(listed=sent)
