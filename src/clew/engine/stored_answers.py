"""Answers that clients ask for by id, or delete: found in the store, within the principal, in the client's own dialect."""

from __future__ import annotations

from msgspec import Raw

from clew.dialects.optional import StoredTurns
from clew.engine.aside import looking_up
from clew.engine.services import EngineServices
from clew.errors import AnswerUnknown
from clew.exchange.call import Call
from clew.exchange.heads import JSON_TYPE
from clew.http.responder import Responder
from clew.store import Store

_INPUT = "input_items"


async def answer_stored(services: EngineServices, call: Call, client: Responder) -> None:
    """Answer a call about a stored answer. Raises AnswerUnknown, RequestInvalid, StoreError."""
    client.send(200, [JSON_TYPE], await looking_up(0, lambda: _reply(services.store, call)))


def _reply(store: Store | None, call: Call) -> bytes:
    form, (id, _, part) = call.front.stored, call.name.partition("/")
    assert form is not None, "routes of stored answers are those of dialects that have them"
    exchange = form.exchange_of(id)
    if store is None or not exchange or part not in ("", _INPUT):
        raise _unknown(id)
    if call.method == "DELETE":
        if part or not store.hide_native_turn(call.principal, exchange).result():
            raise _unknown(id)
        return form.write_deletion(id)
    if part:
        return _input_of(store, call, form, exchange, id)
    for passage in store.native_turns(call.principal, [exchange]):
        return form.show_answer(passage.answer, call.query)
    raise _unknown(id)


def _input_of(store: Store, call: Call, form: StoredTurns, exchange: str, id: str) -> bytes:
    items: list[Raw] = []
    passages = store.native_history(call.principal, exchange)
    for each in passages:
        items += map(Raw, each.items)
        if each is not passages[-1]:
            items += form.items_of(each.answer)
    if not passages:
        raise _unknown(id)
    return form.list_input(items, exchange, call.query)


def _unknown(id: str) -> AnswerUnknown:
    return AnswerUnknown(f"Response with id '{id}' not found.")
