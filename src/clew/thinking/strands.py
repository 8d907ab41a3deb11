"""Strands: which thinking goes with a request to a reader that checks what came before a block.

New Claude models refuse a thinking block if a block of its strand is missing, or is back after it had been left out. What
was sent ahead of the last answer is therefore the only row that is known to be accepted, and the answer records it.
Let L be the newest answer that this reader made (else the newest that it reads). Up to L goes the strand of L and nothing
else: its longest unbroken tail that can be put in place. After L goes what the client sends.

A row is of blocks as their maker gets them. For Claude these are the blocks that clients hold. Blocks of any other maker are
sealed on their way to the client, or hidden, and its strands are rows of the blocks under the seals.

A strand also remembers repairs. A repair of a dialect (`dialects.openai_chat.repairs`) concerns no block; the strand has a
*mark* in front for it: a value like a block key that is none, so nothing is ever sent because of it. A request that goes on
from that answer finds the mark; a fork from before the repair does not. In the Anthropic dialect a repair leaves blocks out,
which the strand itself shows. For a reader that gets all of its own back, the mark `LEFT_OUT` says that this strand counts.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from hashlib import sha256
from typing import Final

from clew.model.blocks import made
from clew.model.origin import ANTHROPIC, Origin
from clew.model.recording import Recording, Recordings, Strand
from clew.thinking.keys import keys_of


def own_keys(recording: Recording) -> tuple[bytes, ...]:
    """The keys of an answer's own thinking, as its maker gets it back."""
    if recording.origin.realm == ANTHROPIC:
        return recording.keys
    return keys_of(map(made, recording.blocks))


def strand_keys(recording: Recording, shelf: Recordings) -> tuple[bytes, ...]:
    """The keys that went ahead of an answer. Where a link leads to a lost recording, the keys beyond it are unknown: the row
    begins there, which is a tail of the true one, and the vendor accepts tails. Remarks stay in any case."""
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
    """The part of the row that matters to a reader which checks nothing in it. Remarks are listed, so a link without a list
    has none. A recording without a digest was not made by clew, and its whole row is read."""
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


_FAR = 32
"""How many answers back the search for one of a backend or a realm goes."""


def repair_mark(name: str) -> bytes:
    return sha256(b"clew repair\0" + name.encode()).digest()


LEFT_OUT: Final = repair_mark("left out")
"""Blocks that are not in this strand were refused."""


def repairs_in(names: Iterable[str], row: Container[bytes]) -> tuple[str, ...]:
    """The repairs that this row has a mark for."""
    return tuple(name for name in names if repair_mark(name) in row)


def newest_of_backend(newest: Recording | None, backend: str, model: str, shelf: Recordings) -> Recording | None:
    """The newest answer of this backend and model, from the newest of the history back."""
    return _newest(newest, shelf, lambda origin: (origin.backend, origin.model) == (backend, model))


def newest_in_realm(realm: str, newest: Recording | None, shelf: Recordings) -> Recording | None:
    """The newest answer that was made in this realm, from the newest of the history back."""
    return _newest(newest, shelf, lambda origin: origin.realm == realm)


def _newest(newest: Recording | None, shelf: Recordings, fits: Callable[[Origin], bool]) -> Recording | None:
    for _ in range(_FAR):
        if newest is None or fits(newest.origin):
            return newest
        newest = shelf.by_id(newest.followed) if newest.followed else None
    return None
