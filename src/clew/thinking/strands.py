"""Strands: which thinking goes with a request to a reader that checks what came before a block.

New Claude models refuse a thinking block if a block of its strand is missing, or is back after it had been left out. What
was sent ahead of the last answer is therefore the only row that is known to be accepted, and the answer itself remembers it.
Let L be the newest answer that this reader made (else the newest that it reads). Up to L goes the strand of L and nothing
else: its longest unbroken tail that can be put in place. After L goes what the client sends.

A row is of blocks as their maker gets them. For Claude these are the blocks that clients hold. Any other's are sealed on
their way to the client, or hidden, and its strands are rows of what is under the seals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from clew.model.blocks import made
from clew.model.origin import ANTHROPIC
from clew.model.recording import Recording, Recordings, Strand
from clew.thinking.keys import key_of

__all__ = ["longest_tail", "own_keys", "remarks_of", "strand_for", "strand_keys"]


def own_keys(recording: Recording) -> tuple[bytes, ...]:
    """The keys of an answer's own thinking, as its maker gets it back."""
    if recording.origin.realm == ANTHROPIC:
        return recording.keys
    return tuple([key for raw in recording.blocks if (key := key_of(made(raw)))])


def strand_keys(recording: Recording, shelf: Recordings) -> tuple[bytes, ...]:
    """The keys that went ahead of an answer. Where a link leads to a lost recording, what lies beyond it is unknown: the
    row begins there, which is a tail of the true one, and tails are what the vendor accepts. Remarks stay in any case."""
    rows: list[tuple[bytes, ...]] = []
    at, start = recording, recording.strand.listed or ()
    seen: set[str] = set()
    while at.id not in seen:
        seen.add(at.id)
        if at.strand.after is None:
            start = at.strand.listed or ()
            break
        before = shelf.by_id(at.strand.after)
        if before is None:
            break
        rows.append(own_keys(before))
        at = before
    return (*start, *[key for row in reversed(rows) for key in row])


def remarks_of(recording: Recording, shelf: Recordings) -> frozenset[bytes]:
    """All of the row that a reader may have to know who checks nothing in it: remarks are listed, so a link without a list
    has none. What was recorded without a digest was not recorded by us, and is looked through."""
    strand = recording.strand
    if strand.listed is not None:
        return frozenset(strand.listed)
    return frozenset() if recording.digest else frozenset(strand_keys(recording, shelf))


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


def strand_for(
    sent: tuple[bytes, ...], last: Recording | None, shelf: Recordings, remarks: tuple[bytes, ...] = ()
) -> Strand:
    """How to remember the row that was sent: a link to the newest answer in it where that says the same, else the list."""
    if not sent:
        return Strand(listed=())
    if last is not None and strand_keys(last, shelf) + own_keys(last) == sent:
        return Strand(after=last.id, listed=remarks or None)
    return Strand(listed=sent)
