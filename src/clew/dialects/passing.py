"""How an answer passes where client and backend speak the same dialect."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from msgspec import Struct

from clew.model.events import Event
from clew.model.json import JsonObject
from clew.wire.sse import SseEvent
from clew.wire.sse_runs import RunPattern


class JoinedDeltas(NamedTuple):
    """Neighbours in a run that are alike: which block they are for, and all of them as one delta; None if they have to be
    read one by one, and then `raw` are their bytes."""

    block: int
    delta: JsonObject | None
    raw: bytes = b""


class Passthrough(Struct, frozen=True, kw_only=True, eq=False):
    """The same dialect on both sides: which bytes of an answer pass unread, and how those that must change are replaced."""

    all_runs: RunPattern
    """Every delta passes."""
    unsigned_runs: RunPattern
    """Every delta but signatures, which seals replace."""
    no_runs: RunPattern
    """Every event is read, because blocks are counted again."""
    read_run: Callable[[bytes], Iterable[Event]]
    """The events of a run, neighbours joined. Raises StreamIllegal."""
    join_run: Callable[[bytes], Iterator[JoinedDeltas]]
    read_event: Callable[[SseEvent], Event]
    write_event: Callable[[Event], bytes]
    rename_start: Callable[[bytes, SseEvent, str], bytes]
    """The bytes of the first event with the model's name as the client asked for it."""
    fill_usage: Callable[[Event, bytes, str, JsonObject], bytes]
    """The bytes of an event that lacks usage, with the model's name as asked and this usage, on which clients rely."""
    pass_answer: Callable[[bytes, str, JsonObject | None], bytes]
    """An answer in one piece with the model's name as asked, and with this usage if it has none."""


class PassedDeltas(Protocol):
    """Deltas that pass as bytes where client and backend speak one dialect, whose streams are read and written otherwise."""

    @property
    def waits(self) -> bool:
        """Whether so many have passed that they should be read."""
        ...

    def take(self, data: bytes) -> bytes:
        """What the client gets for a read that is nothing but deltas of the open block; b"" if it is anything else."""
        ...

    def learn(self, data: bytes) -> None:
        """After a read that was no such one, and was read: it may tell how the next ones look."""
        ...

    def pending(self) -> Sequence[Event]:
        """What passed and was not settled yet. From any thread, too."""
        ...

    def settle(self) -> Event | None:
        """All that passed since the last time as one event, which reader and writer know then; None if nothing did."""
        ...
