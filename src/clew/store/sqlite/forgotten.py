"""Forgotten: that a thread was deleted, and when, so that an answer under way does not bring its words back.

Whoever deletes a thread cannot know who is just being answered in it: in this process, in another one, by a client that has
said nothing for minutes. So what was deleted is noted, and the transaction that keeps a turn looks: what began before the
deletion is kept without its words, whoever kept it and however late. What is said afterwards began afterwards, and is kept
as ever. An import brings back what it has on purpose, and nobody asks here.

The note is a hash, since a thread's name may be a front end's own and say something. It goes when nothing that began before
it can be under way any more.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256
from typing import Final, NamedTuple

import msgspec
from msgspec import structs

from clew.store.sqlite.database import Database
from clew.store.values import DAY, Deletions, Exchange

__all__ = ["NO_HASHES", "Deletion", "deletions", "hashes_of", "is_forgotten", "note", "prune", "wordless"]

LONGEST: Final = 30 * DAY
"""No answer takes longer, nor does a process that has lost its disk or its network for a while."""

_IS_FORGOTTEN = "SELECT 1 FROM forgotten WHERE hash IN (?, ?) AND at >= ?"
_NOTE = "INSERT INTO forgotten VALUES (?, ?) ON CONFLICT (hash) DO UPDATE SET at = max(at, excluded.at)"
_THREAD = "SELECT session, agent FROM threads WHERE principal = ? AND id = ?"

_LAST_OPEN = "SELECT max(started) FROM exchanges WHERE principal = ? AND thread = ? AND outcome = 'open'"

NO_HASHES: Final = (b"", b"")
"""Of what is kept in any case."""


class Deletion(NamedTuple):
    """A thread that goes, when that was said, and whether its session's agents are meant too."""

    principal: str
    thread: str
    at: float
    agents: bool = False


def hashes_of(exchange: Exchange) -> tuple[bytes, bytes]:
    """By which a deletion would be found that this exchange must heed: of its thread, of its session with its agents."""
    principal, session = exchange.principal, exchange.session
    return _hash(b"thread", principal, exchange.thread), _hash(b"session", principal, session) if session else b""


@lru_cache(maxsize=1024)
def _hash(kind: bytes, principal: str, name: str) -> bytes:
    return sha256(b"%b\0%b\0%b" % (kind, principal.encode(), name.encode("utf-8", "surrogatepass"))).digest()


def deletions(connection: Database) -> Deletions:
    """Those that are noted."""
    [row] = connection.execute("SELECT count(*), coalesce(max(at), 0.0) FROM forgotten")
    return msgspec.convert(row, Deletions)


def note(connection: Database, deleted: Deletion) -> bool:
    """A thread is about to be deleted. False if there is no such thread.

    A clock that was set back does not make an answer under way a later one.
    """
    principal, thread, at, agents = deleted
    found = connection.execute(_THREAD, (principal, thread)).fetchone()
    if found is None:
        return False
    last = connection.execute(_LAST_OPEN, (principal, thread)).get
    until = max(at, last) if isinstance(last, float) else at
    connection.execute(_NOTE, (_hash(b"thread", principal, thread), until))
    session, agent = found
    if agents and session and not agent:
        connection.execute(_NOTE, (_hash(b"session", principal, str(session)), until))
    return True


def is_forgotten(connection: Database, exchange: Exchange) -> bool:
    """Whether its thread was deleted after it began."""
    return connection.execute(_IS_FORGOTTEN, (*hashes_of(exchange), exchange.started)).get is not None


def wordless(exchange: Exchange) -> Exchange:
    """What may stay of it: who answered, how it ended and what it cost, and no name or word of where that was."""
    return structs.replace(exchange, kind="forgotten", thread="", session="", agent="", changes=(), tries=())


def prune(connection: Database, now: float) -> None:
    connection.execute("DELETE FROM forgotten WHERE at < ?", (now - LONGEST,))
