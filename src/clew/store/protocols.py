"""The interfaces between clew and what it remembers: one for each concern, and `Store` for all of them together.

Writes return at once with a future, and another thread does the work. The future's end is the commit (law 8); `commits`
waits for it as long as an answer may be held back. Reads are plain calls of some tens of microseconds per recording; an
event loop makes them in a thread. Everything belongs to a principal: there is no call that looks across principals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Protocol, Self

from clew.model.recording import Recordings
from clew.model.turn import Bodies, Exchange, TurnRecord
from clew.store.audit_table import AuditTable
from clew.store.key_rows import KeyRows
from clew.store.limit_tables import LimitTables
from clew.store.process_protocols import LeaseStore, NewsStore
from clew.store.usage_table import UsageTable
from clew.store.values import (
    Branch,
    ClockDoubt,
    Days,
    Health,
    Hit,
    Lookup,
    LookupResult,
    NativePassage,
    Passage,
    Retention,
    Statistics,
    StoreFault,
    StorePlace,
    StoreSize,
    Thread,
    ThreadTotal,
    UsageTotal,
)

IDLE = 300.0
"""After so many seconds without a request that holds it, a thinking block counts as dormant."""


class RecordingStore(Protocol):
    """What models said, and how it is found again."""

    def record(self, turn: TurnRecord, *, brought_back: bool = False) -> Future[bool]:
        """Keep a turn, all of it or nothing. True if it is new; recording the same turn again is False and changes nothing.

        A turn that is kept as `open` is replaced by the next record of the same exchange. A turn whose thread was deleted
        since it began is False too: its exchange is kept as `forgotten`, without its text. `brought_back` is for imports,
        which restore deleted threads on purpose.
        """
        ...

    def record_open(self, turn: TurnRecord) -> Future[bool]:
        """Keep a turn that is under way. Nobody waits for it: it is written within a moment, together with others."""
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
        """Note that a request came with these thinking blocks, and that these recordings were found in it.

        `lazily`: nobody waits for it, and it is written within a moment, together with others.
        """
        ...

    def recordings(self, principal: str) -> Recordings:
        """One principal's recordings, looked up one by one as they are asked for."""
        ...

    def gather(self, wanted: Lookup, check: Callable[[], None] = ...) -> LookupResult:
        """Answer one look-up; the caller waits in a thread. Never raises StoreError: the result says what failed. `check` is
        called now and then, and may raise an exception that ends the work."""
        ...

    def recall(self, wanted: Lookup) -> LookupResult | None:
        """Answer a look-up from memory alone, for an event loop: None if a recording may have to be looked up in the store,
        as always for a place. An unknown thread of the session is "", and unknown pins are missing. Also None where what is
        `known` does not hold any more, or what is new leads to something beyond it: then ask for all."""
        ...


class ThreadStore(Protocol):
    """Conversations: as lists, as they were said, and what is chosen for one of them."""

    def threads(self, principal: str, *, limit: int = 100, before: float | None = None, starting: str = "") -> list[Thread]:
        """The last used first; `before` continues a list after the `used` of its last. `starting` is how their ids begin."""
        ...

    def thread(self, principal: str, id: str) -> Thread | None: ...

    def sibling_threads(self, principal: str, thread: str) -> list[Thread]:
        """The other threads of a main thread's session, oldest first: its sub-agents. Empty for a sub-agent's thread."""
        ...

    def thread_of(self, principal: str, session: str, agent: str) -> str | None:
        """The last used thread with these headers; None if there is none, or if there is no session."""
        ...

    def pin(self, principal: str, thread: str, backend: str) -> Future[bool]:
        """Let a thread stay with a backend; "" removes the pin. False if there is no such thread."""
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
        """The branches of a thread and of its sub-agents, in the order in which they began."""
        ...

    def forget(self, principal: str, thread: str, *, at: float, agents: bool = False) -> Future[bool]:
        """Delete a thread with its recordings, turns and exchanges. False if there is no such thread. Usage stays.

        When the future ends, no file of the store has any of its text, and none comes back with an answer that began before
        `at`, in whichever process. With `agents` this holds for the whole session of the thread, because its agents may be
        working on parts of it. A long thread is deleted in steps, the newest answers first; if that is interrupted, a
        shorter thread is left, which can be deleted again.
        """
        ...


class ExchangeStore(Protocol):
    """What happened to each request."""

    def exchanges(
        self, principal: str, *, thread: str | None = None, limit: int = 100, after: str | None = None
    ) -> list[Exchange]:
        """The last exchanges, newest first. With `after`: those that came after this exchange, oldest first.

        After an exchange that was deleted comes nothing: begin again with the last.
        """
        ...

    def exchange(self, principal: str, id: str) -> Exchange | None: ...

    def position(self, principal: str) -> str:
        """Where the principal's exchanges end now, for `exchanges_since`."""
        ...

    def exchanges_since(self, principal: str, position: str, *, limit: int) -> tuple[list[Exchange], str]:
        """The exchanges that became visible after a position, in that order, and the position after them. None is left out,
        whichever gateway wrote it; one that is still open comes again when it is over. From a position that is "" or is not
        there any more: the last ones."""
        ...


class NativeTurnStore(Protocol):
    """Turns in their clients' own dialects, by the ids of their exchanges.

    A caller waits in a thread: a turn that is being written is waited for.
    """

    def native_history(self, principal: str, exchange: str) -> list[NativePassage]:
        """The turns up to this one, oldest first: together they are all that the client had said and heard. Empty if this
        one is not (any more) kept, or one of the others is not."""
        ...

    def native_turns(self, principal: str, exchanges: Iterable[str]) -> list[NativePassage]:
        """Those of these turns that are kept, in any order."""
        ...

    def hide_native_turn(self, principal: str, exchange: str) -> Future[bool]:
        """Let this turn be found by its id no more. Turns that followed it still have it in their history. False if there is
        none."""
        ...


class BodyStore(Protocol):
    """Whole requests and answers, for people to look at. Only the last ones are kept."""

    def bodies(self, principal: str, exchange: str) -> Bodies | None:
        """An exchange's whole request and answer, if they are (still) kept."""
        ...

    def configure(self, *, content: bool, bodies: int | None) -> None:
        """Change what is kept of turns from now on; see `clew.store.open_store`."""
        ...


class UsageStore(Protocol):
    """What was used, added up."""

    @property
    def usage(self) -> UsageTable:
        """Of all principals, by any names."""
        ...

    def usage_totals(self, principal: str, *, since: float = 0.0) -> list[UsageTotal]:
        """Usage by backend and model."""
        ...

    def thread_totals(self, principal: str, threads: Sequence[str]) -> list[ThreadTotal]:
        """Calls and usage of each of these threads, by backend and model."""
        ...

    def days(self, principal: str, *, since: float) -> Days:
        """Usage, times and thinking by local day, backend and model. May take a second where there is much."""
        ...

    def statistics(self, principal: str, *, backend: str, now: float, idle: float = IDLE) -> Statistics:
        """Counts of thinking blocks; `backend` is the present one."""
        ...


class LimitStore(Protocol):
    """How much may be used, and what was. The charges of a turn are added up when it is kept."""

    @property
    def limits(self) -> LimitTables: ...


class KeyStore(Protocol):
    """Who may use the gateway."""

    @property
    def keys(self) -> KeyRows: ...


class AuditStore(Protocol):
    """Who changed what."""

    @property
    def audit(self) -> AuditTable: ...


class ChoiceStore(Protocol):
    """What operators chose while clew runs: settings by scope and name, which override those of the file."""

    def set(self, name: str, value: str | None, *, scope: str = "", at: float) -> Future[None]:
        """Write a setting, or remove it with None. A scope is "" for all, or the name of one gateway or principal."""
        ...

    def settings(self, scope: str = "") -> Mapping[str, str]: ...


class SearchStore(Protocol):
    """The index of words."""

    def search(self, principal: str, typed: str, *, limit: int = 50) -> list[Hit]:
        """The turns that contain all these words, the newest first, then threads with such a title.

        A word is found by its beginning, "several in quotes" as they stand. Nothing that can be typed is an error.
        """
        ...

    def index_turns(self) -> Future[int]:
        """Add some new turns to the index of words. Returns how many; call again until there are none.

        A search does this by itself; doing it now and then makes searches faster.
        """
        ...


class UpkeepStore(Protocol):
    """The store itself: its health, its size, its retention, and its end."""

    @property
    def place(self) -> StorePlace:
        """Whether other machines have what it has."""
        ...

    @property
    def clock_offset(self) -> float:
        """Seconds that the store's clock is ahead of this machine's. Times in a shared store are by its own clock."""
        ...

    def describe(self) -> str:
        """Where it is, in its own words, for people."""
        ...

    def health(self) -> Health: ...

    def size(self) -> StoreSize: ...

    def verify(self) -> tuple[StoreFault, ...]:
        """Every fault that can be found by reading everything. Empty is sound."""
        ...

    def apply_retention(self, retention: Retention, *, now: float) -> Future[int]:
        """Delete what is too old, then what is too much, the longest unused first. Returns how many records were deleted.

        A call deletes a few, for hundredths of a second, so that no turn waits long for it; call again until it returns 0.
        """
        ...

    def check_clock(self, now: float) -> Future[ClockDoubt | None]:
        """Note the time, and say why the clock may be wrong; None if it may be believed."""
        ...

    def close(self) -> None:
        """Commit what waits, then close the file or the connections."""
        ...

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...


class Store(
    RecordingStore,
    ThreadStore,
    ExchangeStore,
    NativeTurnStore,
    BodyStore,
    UsageStore,
    LimitStore,
    KeyStore,
    AuditStore,
    ChoiceStore,
    SearchStore,
    LeaseStore,
    NewsStore,
    UpkeepStore,
    Protocol,
):
    """All of it. Opened by `clew.store.kinds`."""
