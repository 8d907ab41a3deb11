"""What goes into a store and comes out of it, apart from recordings (`clew.model.recording`), turns (`clew.model.turn`) and
counts (`reports`).

Plain frozen values. Times are seconds since the epoch. They always come in as arguments: a store has no clock of its own, so
that tests and imports can write any date.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct

from clew.errors import StoreError
from clew.model.recording import Recording


class Passage(Struct, frozen=True, kw_only=True):
    """One turn of a thread as it was said: the question, and the answer if it is (still) recorded."""

    exchange: str
    at: float
    asked: tuple[bytes, ...]
    recording: Recording | None


class Thread(Struct, frozen=True, kw_only=True):
    """A conversation. `pin` is the backend that it stays with, "" for none."""

    id: str
    principal: str
    session: str
    agent: str
    title: str
    pin: str
    created: float
    used: float
    turns: int


class Branch(Struct, frozen=True, kw_only=True):
    """A part of a thread's tree without forks: exchanges of which each followed the one before, oldest first.

    `after` is the exchange that the branch continues, "" for a beginning. A sub-agent's branch is of another thread.
    """

    thread: str
    agent: str
    after: str
    exchanges: tuple[str, ...]
    began: float
    ended: float


class Hit(Struct, frozen=True, kw_only=True):
    """A turn in which words were found; or a thread whose title has them, and then `exchange` is "".

    `snippet` is the text around the words, on one line; `marks` say where in it each of them begins and ends.
    """

    thread: str
    title: str
    at: float
    exchange: str = ""
    snippet: str = ""
    marks: tuple[tuple[int, int], ...] = ()


class Lookup(Struct, frozen=True, kw_only=True):
    """What a request wants to know from a store, about one principal.

    Recordings by block key, tool id, place and id, and the recordings that these followed or came after, at most `links` in
    a row; the thread with this session and agent, where a session is given; and the pin of `thread`.
    """

    principal: str
    keys: tuple[bytes, ...] = ()
    tools: tuple[str, ...] = ()
    places: tuple[bytes, ...] = ()
    ids: tuple[str, ...] = ()
    links: int = 0
    session: str = ""
    agent: str = ""
    thread: str = ""


class LookupResult(Struct, frozen=True, kw_only=True):
    """The recordings in the order in which they were made; the thread of the session, "" for none; the pin of each thread
    that is named here, "" for none, as far as it can be read.

    A record that cannot be read counts as never recorded: it costs its own thinking, not that of the conversation around it.
    """

    recordings: tuple[Recording, ...] = ()
    thread: str = ""
    pins: Mapping[str, str] = {}
    failure: StoreError | None = None
    """Why a recording could not be read: the first failure."""
    thread_failure: StoreError | None = None
    """Why the thread, or a pin, could not be read."""
    has_pins: bool = False
    """Whether some thread of this principal has a pin, or may have one. Only filled in where something could not be read."""

    @property
    def is_whole(self) -> bool:
        return self.failure is None and self.thread_failure is None


class RunClaim(NamedTuple):
    """A run of an agent wants to run the tool calls of a turn's answer. Of several runs, exactly one gets them."""

    principal: str
    thread: str
    turn: str
    run: str
    was: str = ""
    """The run that began these calls before and, as far as the claimant knows, is not there any more."""
    followers: int | None = 0
    """How many turns the claimant knows to follow this one; None: neither that nor an earlier owner matters."""


class CallOwner(NamedTuple):
    """The turn whose calls were begun, by which run, and in which process; "" for what is not known, or is not there."""

    turn: str = ""
    run: str = ""
    process: str = ""
