"""Marks of repairs in a strand: an answer remembers in which weaker form its request was written.

Where a dialect has a weaker form of a request (`dialects.openai_chat.failures.heals`), what was repaired is no block, and
no row of blocks could tell of it. So the strand that led to the answer has a mark in front for each repair. A mark has the
shape of a block key and is none, so nothing is ever sent because of it. Whoever goes on from that answer finds it there; a
fork from before the repair does not.

In the Anthropic dialect a repair leaves blocks out, which the strand itself tells. For a reader that gets all of its own
back, whatever the strand, one mark says that this strand counts.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from hashlib import sha256
from typing import Final

from clew.model.origin import Origin
from clew.model.recording import Recording, Recordings

__all__ = ["LEFT_OUT", "newest_in_realm", "newest_of_backend", "repair_mark", "repairs_in"]

_FAR = 32
"""Answers to look through for one of this backend's, or realm's; before that, others have answered for long."""


def repair_mark(name: str) -> bytes:
    return sha256(b"clew repair\0" + name.encode()).digest()


LEFT_OUT: Final = repair_mark("left out")
"""What is not in this strand was refused."""


def repairs_in(names: Iterable[str], row: Container[bytes]) -> tuple[str, ...]:
    """Those of the repairs that this row has a mark for."""
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
