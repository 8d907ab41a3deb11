"""The interfaces between clew and what it remembers: one for each concern, and `Store` for all of them together.

Writes return at once with a future and are done by somebody else; the future's end is the commit (law 8), and `outcome`
waits for it as long as an answer may be held back. Reads are plain calls of some tens of microseconds per recording; an
event loop makes them in a thread. Everything is scoped by principal: there is no call that looks across.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from types import TracebackType
from typing import Protocol, Self

from clew.model.recording import Recordings
from clew.store.begun import Beginning, Mark
from clew.store.doubt import Doubt
from clew.store.lookup import LookedUp, Lookup
from clew.store.values import (
    Bodies,
    Branch,
    Days,
    Deletions,
    Exchange,
    Fault,
    Health,
    Hit,
    Passage,
    Retention,
    Spent,
    Statistics,
    StoreSize,
    Thread,
    Turn,
)

__all__ = [
    "IDLE",
    "BodyStore",
    "ChoiceStore",
    "ExchangeStore",
    "LeaseStore",
    "Leases",
    "NewsStore",
    "RecordingStore",
    "SearchStore",
    "Store",
    "ThreadStore",
    "UpkeepStore",
    "UsageStore",
]

IDLE = 300.0
"""After so many seconds without a request that holds it, a block is counted as dormant."""


class RecordingStore(Protocol):
    """What models said, and how it is found again."""

    def record(self, turn: Turn, *, brought_back: bool = False) -> Future[bool]:
        """Keep a turn, all of it or nothing. True if it is new; the same turn again is False, and changes nothing.

        A turn that is kept as `open` is replaced by what comes later under its name. One whose thread was forgotten since
        it began is False too: its exchange is kept as `forgotten`, without a word. An import brings back what it has.
        """
        ...

    def record_open(self, turn: Turn) -> Future[bool]:
        """The same for one that is under way, and that nobody waits for: within a moment, together with others."""
        ...

    def touch(
        self,
        principal: str,
        *,
        keys: Iterable[bytes] = (),
        recordings: Iterable[str] = (),
        at: float,
        lazily: bool = False,
    ) -> Future[None]:
        """A request came with these thinking blocks, and these recordings were found in it.

        `lazily` is for whoever does not wait: within a moment, together with others.
        """
        ...

    def recordings(self, principal: str) -> Recordings:
        """One principal's recordings, looked up one by one as they are asked for."""
        ...

    def gather(self, wanted: Lookup, check: Callable[[], None] = ...) -> LookedUp:
        """One look-up, for which the caller waits in a thread. Never raises StoreError: what it gives says what failed.
        `check` is called now and then, and may raise what ends the work."""
        ...

    def recall(self, wanted: Lookup) -> LookedUp | None:
        """The same from memory alone, for an event loop: None if a recording may have to be looked up, as one by
        its place always may. A thread of the session that is not known is "", and pins that are not known are missing."""
        ...


class ThreadStore(Protocol):
    """Conversations: as lists, as they were said, and what is chosen for one of them."""

    def threads(self, principal: str, *, limit: int = 100, before: float | None = None, starting: str = "") -> list[Thread]:
        """The last used first; `before` continues a list after the `used` of its last. `starting` is how their ids begin."""
        ...

    def thread(self, principal: str, id: str) -> Thread | None: ...

    def beside(self, principal: str, thread: str) -> list[Thread]:
        """The others of a main thread's session, oldest first: its sub-agents, answered or not. None for a sub-agent's."""
        ...

    def thread_of(self, principal: str, session: str, agent: str) -> str | None:
        """The last used thread with these headers; None if there is none, or no session to go by."""
        ...

    def pin(self, principal: str, thread: str, backend: str) -> Future[bool]:
        """Let a thread stay with a backend; "" lets it go. False if there is no such thread."""
        ...

    def pin_of(self, principal: str, thread: str) -> str:
        """The backend that a thread stays with; "" for none."""
        ...

    def pinned(self, principal: str, *, limit: int = 100) -> list[Thread]:
        """Threads that stay with a backend, the last used first."""
        ...

    def rename(self, principal: str, thread: str, title: str) -> Future[bool]:
        """Give a thread another title. False if there is no such thread."""
        ...

    def passages(self, principal: str, thread: str) -> list[Passage]:
        """A thread as it was said, oldest first."""
        ...

    def tree(self, principal: str, thread: str) -> list[Branch]:
        """A thread's stretches between forks, with those of its sub-agents, in the order in which they began."""
        ...

    def forget(self, principal: str, thread: str, *, at: float, agents: bool = False) -> Future[bool]:
        """Delete a thread with its recordings, turns and exchanges. False if there is no such thread. Usage stays.

        When the future ends, nothing of its words is left in any file of the store, nor do they come back with an answer
        that began before `at`, in whichever process. With `agents` that holds for the whole session of the thread: its
        agents may just be told parts of it. A long one goes in bites, the newest answers first; if that is broken off, what
        is left is a shorter thread, to be forgotten again.
        """
        ...


class ExchangeStore(Protocol):
    """What happened to each request."""

    def exchanges(
        self, principal: str, *, thread: str | None = None, limit: int = 100, after: str | None = None
    ) -> list[Exchange]:
        """What befell the last requests, newest first. To follow: what came `after` an exchange, oldest first.

        After one that is gone comes nothing: begin anew with the last.
        """
        ...

    def exchange(self, principal: str, id: str) -> Exchange | None: ...


class BodyStore(Protocol):
    """Whole requests and answers, for people to look at. Only the last ones are kept."""

    def bodies(self, principal: str, exchange: str) -> Bodies | None:
        """An exchange's whole request and answer, if they are (still) kept."""
        ...

    def keep(self, *, content: bool, bodies: int | None) -> None:
        """What is kept of turns from now on, in the place of what was said when it was opened."""
        ...


class UsageStore(Protocol):
    """What was used, added up."""

    def spent(self, principal: str, *, since: float = 0.0) -> list[Spent]:
        """Usage by backend and model."""
        ...

    def days(self, principal: str, *, since: float) -> Days:
        """Usage, times and thinking by local day, backend and model. May take a second where there is much."""
        ...

    def statistics(self, principal: str, *, backend: str, now: float, idle: float = IDLE) -> Statistics:
        """Counts of thinking blocks; `backend` is the present one."""
        ...


class ChoiceStore(Protocol):
    """What operators chose while clew runs: settings by scope and name, before those of the file."""

    def set(self, name: str, value: str | None, *, scope: str = "", at: float) -> Future[None]:
        """Write a setting, or remove it with None. A scope is "" for all, or the name of one gateway or principal."""
        ...

    def settings(self, scope: str = "") -> Mapping[str, str]: ...


class SearchStore(Protocol):
    """The index of words."""

    def search(self, principal: str, typed: str, *, limit: int = 50) -> list[Hit]:
        """The turns in which all these words are, the newest first, then threads with such a title.

        A word is found by its beginning, "several in quotes" as they stand. Nothing that can be typed is an error.
        """
        ...

    def catch_up(self) -> Future[int]:
        """Add turns to the index of words that are not in it yet. How many; call again until there are none.

        Searching does it by itself; whoever does it now and then spares the next search the waiting.
        """
        ...


class Leases(Protocol):
    """Which processes have the store open. A process has a name as long as it lives, however it ends."""

    def name(self) -> str:
        """That of this process, which others find it by. Raises StoreError where it cannot be made known."""
        ...

    def is_held(self, name: str) -> bool:
        """Whether the process of this name is there. Nobody is called ""."""
        ...


class LeaseStore(Protocol):
    """Who is there, and who runs the calls of an answer."""

    @property
    def leases(self) -> Leases: ...

    def begin(self, wish: Beginning, *, at: float, here: bool) -> Future[bool]:
        """Take the calls of an answer, to run them; `here`: in this process. False if somebody else was first."""
        ...

    def leave(self, wish: Beginning, *, at: float) -> Future[None]:
        """They are run no further, and have no results."""
        ...

    def end(self, wish: Beginning) -> Future[None]:
        """Nothing is left of what was begun."""
        ...

    def begun(self, principal: str, thread: str) -> Mark:
        """The turn whose calls were begun, and by whom. It has a process only as long as that is there."""
        ...


class NewsStore(Protocol):
    """What other processes did."""

    def changed(self) -> int:
        """A number that is another one once anything was committed, by any process. Cheap enough to ask twice a second."""
        ...

    def deletions(self) -> Deletions:
        """Others once a thread was deleted, by any process."""
        ...

    def refresh(self) -> str:
        """Take over what other processes chose for threads since the last time; a word for what holds now, which is another
        after each such choice."""
        ...

    def let_go(self) -> None:
        """Keep no words in memory: one who deleted a thread elsewhere could not reach them here."""
        ...


class UpkeepStore(Protocol):
    """The store itself: how it is, how large, what may go, and its end."""

    def describe(self) -> str:
        """Where it is, in its own words, for people."""
        ...

    def health(self) -> Health: ...

    def size(self) -> StoreSize: ...

    def verify(self) -> tuple[Fault, ...]:
        """Every fault that can be found by reading everything. Empty is sound."""
        ...

    def retain(self, retention: Retention, *, now: float) -> Future[int]:
        """Delete what is too old, then what is too much, the longest unused first. How many records went.

        A call deletes a few, for hundredths of a second, so that no turn waits long for it; call again until nothing goes.
        """
        ...

    def check_clock(self, now: float) -> Future[Doubt | None]:
        """Note the time, and say why the clock may be wrong; None if it may be believed. See `clock`."""
        ...

    def close(self) -> None:
        """Commit what waits, then let go of the file."""
        ...

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...


class Store(
    RecordingStore,
    ThreadStore,
    ExchangeStore,
    BodyStore,
    UsageStore,
    ChoiceStore,
    SearchStore,
    LeaseStore,
    NewsStore,
    UpkeepStore,
    Protocol,
):
    """All of it. Opened by `clew.store.kinds`."""
