"""What goes into a store and comes out of it, apart from recordings (`clew.model.recording`) and turns (`clew.model.turn`):
threads, look-ups, counts, and how healthy and how large the store is.

Plain frozen values. Times are seconds since the epoch. They always come in as arguments: a store has no clock of its own, so
that tests and imports can write any date.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Final, Literal, NamedTuple, TypeAlias

from msgspec import Struct

from clew.errors import StoreError
from clew.model.recording import Recording, Shelf
from clew.model.turn import TokenUsage

DAY: Final = 86_400.0
StorePlace: TypeAlias = Literal["shared", "local"]
"""Whether other machines have what a store has."""


class Passage(Struct, frozen=True, kw_only=True):
    """One turn of a thread as it was said: the question, and the answer if it is (still) recorded."""

    exchange: str
    at: float
    asked: tuple[bytes, ...]
    recording: Recording | None


class NativePassage(Struct, frozen=True, kw_only=True):
    """One turn in its client's own dialect: what was new in the client's input, and the answer as the client got it."""

    exchange: str
    items: tuple[bytes, ...]
    answer: bytes


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


class RecalledRecordings(Struct, frozen=True, eq=False):
    """What an earlier look-up found in memory for the same history, and the threads of these recordings.

    It holds as long as memory has the same `version`: since then no recording was deleted, and none came that has a block
    key or a tool id of another.
    """

    version: int
    shelf: Shelf
    threads: frozenset[str]


class Lookup(Struct, frozen=True, kw_only=True):
    """What a request wants to know from a store, about one principal.

    Recordings by block key, tool id, place and id, and the recordings that these followed or came after, at most `links` in
    a row; the thread with this session and agent, where a session is given; and the pin of `thread`. What is `known` is not
    found again, and is not in the result; only a look-up in memory takes notice of it.
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
    known: RecalledRecordings | None = None


class LookupResult(Struct, frozen=True, kw_only=True):
    """The recordings, those with a wanted key last; the thread of the session, "" for none; the pin of each thread
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
    version: int = 0
    """Of the memory in which recordings were found; 0 if they are from elsewhere, or one is not committed yet."""
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


class UsageTotal(Struct, frozen=True, kw_only=True):
    """Usage added up for one backend and model."""

    backend: str
    model: str
    calls: int
    usage: TokenUsage


class ThreadTotal(Struct, frozen=True, kw_only=True):
    """What one backend and model did in a thread, for one client: how many calls, how long they took together, and what they
    used."""

    thread: str
    backend: str
    model: str
    dialect: str
    """What the client speaks."""
    client: str
    """The program that asked; "" where that is not known."""
    key: str
    """The name of the client's key; "" for the gateway's own."""
    calls: int
    seconds: float
    usage: TokenUsage


class DayUsage(Struct, frozen=True, kw_only=True):
    """Usage of one local day (`2026-11-16`), backend and model.

    Calls with prompts of very different lengths are counted apart, because their prices differ.
    """

    day: str
    backend: str
    model: str
    calls: int
    usage: TokenUsage


class DayAnswers(Struct, frozen=True, kw_only=True):
    """How a day's requests to one backend and model ended: how many there were, how many were answered to their end, and how
    many of those answers had thinking.

    `first_byte` and `seconds` are how long each took to its first content, and to its end; sorted.
    """

    day: str
    backend: str
    model: str
    asked: int
    whole: int
    thought: int
    first_byte: tuple[float, ...]
    seconds: tuple[float, ...]


class Days(Struct, frozen=True, kw_only=True):
    """Usage and answers by day. Usage is kept for longer than the rest."""

    spent: tuple[DayUsage, ...] = ()
    answers: tuple[DayAnswers, ...] = ()


class Statistics(Struct, frozen=True, kw_only=True):
    """Thinking blocks of one principal.

    `total` is the sum of the next two, and of the two after. A *session* is what the present backend made: there is no
    proxy-wide counter here (law 7). `dormant` blocks of the total were in no request for a while, and are still valid when
    they return; `unknown` blocks came in requests and were never recorded, so they are not part of the total.
    """

    total: int = 0
    confirmed: int = 0
    unconfirmed: int = 0
    current_session: int = 0
    old_session: int = 0
    dormant: int = 0
    unknown: int = 0


class Retention(Struct, frozen=True, kw_only=True):
    """What may stay. `age` counts from the last use; None is no limit. Usage has its own age: it holds no text. Whole bodies
    may go earlier than all else."""

    age: float | None = 90 * DAY
    bytes: int | None = 2 << 30
    usage_age: float | None = 400 * DAY
    bodies_age: float | None = None

    def bodies_limit(self, now: float) -> float:
        """The time before which bodies are too old."""
        ages = [age for age in (self.age, self.bodies_age) if age is not None]
        return now - min(ages) if ages else -inf


class Health(Struct, frozen=True, kw_only=True):
    """Whether the store writes: "ok"; "degraded" after a failure that may pass; "read-only" after one that may not.

    `why` says what failed; `warning` says what will fail if nothing is done.
    """

    state: Literal["ok", "degraded", "read-only"] = "ok"
    why: str = ""
    warning: str = ""
    waiting: int = 0
    wal_bytes: int = 0
    local: int = 0
    """Turns that are on this machine alone, because a shared store does not take them now."""
    skipped: int = 0
    """Bodies that were not kept: too many waited, or one could not be compressed or written."""


class GatewayProcess(Struct, frozen=True, kw_only=True):
    """A process of a gateway that shares its store with others, as it announced itself last."""

    name: str
    machine: str = ""
    pid: int = 0
    address: str = ""
    """Where its admin is reached, else where clients reach it."""
    version: str = ""
    config: str = ""
    """Digest of its settings file."""
    active: str = ""
    problem: str = ""
    """What is wrong with its settings file."""
    taken: int = 0
    """The last value of `NewsStore.changes` up to which it has taken over what others changed."""


class StoreSize(Struct, frozen=True, kw_only=True):
    """Bytes of the store, and of its log of committed changes that are not yet in the store itself, where it has one."""

    bytes: int = 0
    log_bytes: int = 0


class Deletions(Struct, frozen=True, array_like=True):
    """How many threads were deleted of late, and when the last one was. Each deletion changes the value."""

    count: int
    last: float


class StoreFault(Struct, frozen=True):
    """Something that `verify` found: which record ("" for the file) and what is wrong with it."""

    record: str
    what: str


class ClockDoubt(Struct, frozen=True):
    """Why this machine's clock may be wrong: it said `since` when the store had last seen about `before`."""

    since: float
    before: float
    is_new: bool = False

    def __str__(self) -> str:
        days = (self.since - self.before) / DAY
        return (
            f"this machine's clock is {days:.0f} days past the last time that clew saw, so it may be wrong: "
            "nothing is deleted for its age during 24 hours"
        )
