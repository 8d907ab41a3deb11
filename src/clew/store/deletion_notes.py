"""Notes of deletions: what a store keeps of a deleted thread, so that no answer that was under way brings it back.

A note is a hash of the thread, or of its session with all its agents, and a time. An exchange that began before the time is
kept without its text.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256
from typing import Final, NamedTuple

import msgspec

from clew.model.turn import Exchange
from clew.store.values import DAY

LONGEST: Final = 30 * DAY
"""No answer takes longer, nor does a process that has lost its disk or its network for a while."""
NO_HASHES: Final = (b"", b"")
"""For a turn that is kept in any case."""


class Deletion(NamedTuple):
    """The request to delete a thread, when it was made, and whether it includes the agents of its session."""

    principal: str
    thread: str
    at: float
    agents: bool = False


def deletion_hashes(exchange: Exchange) -> tuple[bytes, bytes]:
    """The hashes of the deletions that would affect this exchange: of its thread, and of its session with all agents."""
    principal, session = exchange.principal, exchange.session
    of_thread = deletion_hash(b"thread", principal, exchange.thread)
    return of_thread, deletion_hash(b"session", principal, session) if session else b""


@lru_cache(maxsize=1024)
def deletion_hash(kind: bytes, principal: str, name: str) -> bytes:
    return sha256(b"%b\0%b\0%b" % (kind, principal.encode(), name.encode("utf-8", "surrogatepass"))).digest()


def without_text(exchange: Exchange) -> Exchange:
    """What may stay of an exchange: who answered, how it ended and what it cost, but no name or text of its thread."""
    return msgspec.structs.replace(exchange, kind="forgotten", thread="", session="", agent="", changes=(), tries=())
