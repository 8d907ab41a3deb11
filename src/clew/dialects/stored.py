"""What a dialect gives whose clients name earlier answers by id, instead of sending them back.

The store keeps each turn as the client said and got it (`model.turn.NativeTurn`). Before a request is read, what it names is
looked up, and then it is read as if the client had sent all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Raw, Struct

from clew.model.json import JsonObject
from clew.model.request import Request, Wanted
from clew.model.turn import NativeTurn

if TYPE_CHECKING:
    from clew.dialects.shape import AnswerContext, ClientHeaders


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
