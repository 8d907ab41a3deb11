"""How clients of the Responses API name stored answers, as one value for the dialect."""

from __future__ import annotations

from typing import Final

from clew.dialects.openai_responses.answers import write_answer
from clew.dialects.openai_responses.detail import detail_of
from clew.dialects.openai_responses.kept import exchange_of, id_of, items_of, native_turn, sealed_in
from clew.dialects.openai_responses.listing import list_input, write_deletion
from clew.dialects.openai_responses.request_reader import read_request_with, references_in
from clew.dialects.shape import AnswerContext
from clew.dialects.stored import StoredTurns
from clew.model.json import JsonObject
from clew.model.turn import NativeTurn

_FALSE: Final = b"false"


def keep_turn(message: JsonObject, context: AnswerContext) -> NativeTurn | None:
    """The turn as the client said and got it; None for a client that says `store: false`."""
    detail = detail_of(context.native)
    if bytes(detail.fields.get("store", b"")) == _FALSE:
        return None
    return native_turn(detail.input, write_answer(message, context))


STORED: Final = StoredTurns(
    references_in=references_in,
    read_request_with=read_request_with,
    exchange_of=exchange_of,
    items_of=items_of,
    id_of=id_of,
    sealed_in=sealed_in,
    list_input=list_input,
    write_deletion=write_deletion,
    keep_turn=keep_turn,
)
