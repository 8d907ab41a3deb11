"""What a request names instead of sending it: looked up in the store before the request is read.

A request may go on from an earlier answer by its id, name single items of one, and bring summaries under a seal. All of it
is found within the principal, with one look-up for the history behind an answer and one for all items; then the request is
read as if the client had sent it whole. To be called in a thread.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Raw

from clew.dialects.optional import StoredItems, StoredReferences, StoredTurns
from clew.engine.services import EngineServices
from clew.errors import RequestInvalid, SealInvalid
from clew.exchange.call import Call
from clew.model.request import Request, Wanted
from clew.store import Store
from clew.thinking.seal import is_seal, open_summary

_NOT_KEPT = (
    "This gateway keeps no conversations ({why}), so `{field}` finds nothing. Send the whole history in `input` "
    "instead (with `store: false`, clients do), or have the operator keep conversations: `content = true` in [store] of "
    "clew.toml."
)
_NOT_STORED = (
    " Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from "
    "your input."
)


def names_stored(call: Call) -> bool:
    """Whether a request names something that has to be looked up first."""
    stored = call.front.stored
    return stored is not None and stored.references_in(call.body) is not None


def read_completed(services: EngineServices, call: Call, wanted: Wanted) -> Request:
    """The request with all that it names. Raises RequestInvalid, in the vendor's words for what cannot be found; and what
    reading any request raises."""
    stored = call.front.stored
    references = stored.references_in(call.body) if stored is not None else None
    if stored is None or references is None:
        return services.histories.read(call, wanted)
    return stored.read_request_with(call.body, call.headers, wanted, _found(services, call, stored, references))


def _found(services: EngineServices, call: Call, form: StoredTurns, references: StoredReferences) -> StoredItems:
    if not references.previous and not references.items:
        return StoredItems(opened=_opened(services, call, references.sealed))
    field = "previous_response_id" if references.previous else "item_reference"
    if services.store is None or not services.snapshot().exchange.keeps_content:
        why = "it has no store" if services.store is None else "`content = false` in its settings"
        raise RequestInvalid(_NOT_KEPT.format(why=why, field=field), path=_PATHS[field])
    before = _history(services, services.store, call, form, references.previous) if references.previous else ()
    by_id = _items(services.store, call.principal, form, references.items) if references.items else {}
    sealed = [*references.sealed, *[token for item in before if (token := form.sealed_in(item))]]
    return StoredItems(before=before, by_id=by_id, opened=_opened(services, call, sealed))


_PATHS = {"previous_response_id": "previous_response_id", "item_reference": "input"}


def _opened(services: EngineServices, call: Call, sealed: Sequence[str]) -> dict[str, str]:
    """The summaries under seals of clew's. What another vendor sealed is not for us."""
    sealer = services.snapshot().sealer
    try:
        return {token: open_summary(sealer, token, principal=call.principal) for token in sealed if is_seal(token)}
    except SealInvalid as error:
        raise RequestInvalid(
            f"The encrypted content of a compaction item could not be verified: {error}. Only the gateway that made it, or "
            "one with the same secret, can open it, for the same key. Leave the item out and send the history instead.",
            path="input",
            code="invalid_encrypted_content",
        ) from error


def _history(services: EngineServices, store: Store, call: Call, form: StoredTurns, id: str) -> tuple[Raw, ...]:
    """All items that an answer was given to, and its own."""
    passages = store.native_history(call.principal, form.exchange_of(id))
    if not passages:
        words = f"Previous response with id '{id}' not found."
        raise RequestInvalid(words, path="previous_response_id", code="previous_response_not_found")
    # What is only named is in use all the same: retention counts from here.
    store.touch(call.principal, recordings=[each.exchange for each in passages], at=services.wall(), lazily=True)
    items: list[Raw] = []
    for each in passages:
        items += map(Raw, each.items)
        items += form.items_of(each.answer)
    return tuple(items)


def _items(store: Store, principal: str, form: StoredTurns, ids: Sequence[str]) -> dict[str, Raw]:
    """Items of answers, by their ids. Raises RequestInvalid for the first that is not found."""
    exchanges = dict.fromkeys(name for id in ids if (name := form.exchange_of(id)))
    found = {
        form.id_of(item): item
        for passage in store.native_turns(principal, exchanges)
        for item in form.items_of(passage.answer)
    }
    for id in ids:
        if id not in found:
            is_known = store.exchange(principal, form.exchange_of(id)) is not None
            raise RequestInvalid(f"Item with id '{id}' not found.{_NOT_STORED if is_known else ''}", path="input")
    return found
