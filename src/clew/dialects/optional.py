"""What only some dialects give: how answers pass where both sides speak it, and answers that clients name by id.

Clients that name earlier answers, instead of sending them back, need the store: it keeps each turn as the client said and
got it (`model.turn.NativeTurn`). Before a request is read, what it names is looked up, and then it is read as if the client
had sent all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from msgspec import Raw, Struct

from clew.model.events import Event
from clew.model.json import JsonObject
from clew.model.request import Request, Wanted
from clew.model.turn import NativeTurn
from clew.wire.sse import SseEvent
from clew.wire.sse_runs import RunPattern

if TYPE_CHECKING:
    from clew.dialects.shape import AnswerContext, ClientHeaders


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

    def settle(self) -> Event | None:
        """All that passed since the last time as one event, which reader and writer know then; None if nothing did."""
        ...


class StoredReferences(NamedTuple):
    """What a request names: an answer that it goes on from, single items, and sealed summaries."""

    previous: str = ""
    items: tuple[str, ...] = ()
    sealed: tuple[str, ...] = ()
    """Summaries that the client holds under a seal, as it sends them."""


class StoredItems(Struct, frozen=True, kw_only=True, eq=False):
    """What is behind these references. The client's request is read as if all of it stood there."""

    before: tuple[Raw, ...] = ()
    """The items in front of the client's own."""
    by_id: Mapping[str, Raw] = {}
    opened: Mapping[str, str] = {}
    """The texts of sealed summaries, by what the client sends for them. What is not here is no seal of clew's."""


class StoredTurns(Struct, frozen=True, kw_only=True, eq=False):
    """How the clients of one dialect name stored answers, as functions of its folder."""

    references_in: Callable[[bytes], StoredReferences | None]
    """What a request body names; None for nothing, and for a body that cannot be read."""
    read_request_with: Callable[[bytes, ClientHeaders, Wanted, StoredItems], Request]
    """As `Dialect.read_request`, with what was found. Raises the same."""
    exchange_of: Callable[[str], str]
    """The exchange that gave an answer or an item its id; "" if clew gave it none."""
    items_of: Callable[[bytes], tuple[Raw, ...]]
    """The items of a stored answer, as the client may send them back."""
    id_of: Callable[[Raw], str]
    """The id of such an item."""
    sealed_in: Callable[[Raw], str]
    """The summary under a seal that such an item brings; "" for any other."""
    show_answer: Callable[[bytes, str], bytes]
    """A stored answer for a client that asks for it, of it and the query. Raises RequestInvalid."""
    list_input: Callable[[Sequence[Raw], str, str], bytes]
    """A page of the items that an answer was given to: from all of them, the id of its exchange, and the query. Raises
    RequestInvalid."""
    write_deletion: Callable[[str], bytes]
    """The word that the answer of this id was deleted."""
    keep_turn: Callable[[JsonObject, AnswerContext], NativeTurn | None]
    """What to keep of an answer, from the canonical message as the client holds it; None where the client forbids it."""
