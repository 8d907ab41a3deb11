"""An answer for a client that asked for one piece, however it comes.

Some servers stream, whatever was asked for. That is read with the strictness of any stream, and only what came to its end is
folded into the message that it tells.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec import structs

from clew.engine.call import Kind
from clew.engine.commands import Compute, ReadBody
from clew.engine.dialects import Dialect, Hints, Refused
from clew.engine.failures import shown
from clew.engine.reply_type import JSON, STREAM, check_encoding, form_of, not_expected
from clew.engine.streamed import MOST_BYTES, read_stream
from clew.engine.turns import Heard, with_late
from clew.errors import BackendBroken
from clew.http.client.message import ResponseHead
from clew.model.json import JsonObject
from clew.pipeline.stream.answer import answer_of_message
from clew.pipeline.stream.dress import Dress, bare, dressed_message
from clew.pipeline.stream.rename import renamed
from clew.pipeline.stream.usage import with_usage

__all__ = ["WholeAnswer", "hear_whole"]


class WholeAnswer(NamedTuple):
    """An answer in one piece: as it came, as the client gets it, and what it says."""

    raw: bytes
    shown: bytes
    heard: Heard


async def hear_whole(
    backend: str, head: ResponseHead, dress: Dress, dialect: Dialect, hints: Hints, kind: Kind, *, within: float
) -> WholeAnswer | Refused:
    """`within`: how many seconds the first content may take, if it is a stream. Raises BackendError, StreamIllegal."""
    check_encoding(head, backend)
    form = await form_of(head)
    if form == STREAM and kind == "messages":
        return await _folded(backend, dress, dialect, hints, within)
    raw = await ReadBody(MOST_BYTES)
    if form != JSON:
        raise not_expected(head, raw, "JSON", backend)
    found = await Compute(len(raw), lambda: _read(raw, dress, dialect, hints, kind))
    if found is None:
        raise BackendBroken(f"{backend}: an answer that is none: {shown(raw) or 'nothing'}")
    return found


def _read(raw: bytes, dress: Dress, dialect: Dialect, hints: Hints, kind: Kind) -> WholeAnswer | Refused | None:
    """None if it is no answer at all."""
    message = dialect.message(raw, hints, kind)
    if message is None or isinstance(message, Refused):
        return message
    if dress.wear.is_plain and not dialect.translates:
        answer = answer_of_message(message)
        shown_body = raw if answer.model == dress.wear.model else renamed(raw, dress.wear.model)
        told = with_usage(shown_body, message) if kind == "messages" else shown_body
        return WholeAnswer(raw, told, Heard(answer=answer))
    return _dressed(raw, message, dress)


def _dressed(raw: bytes, message: JsonObject, dress: Dress) -> WholeAnswer:
    answer, shown_body = answer_of_message(message), with_usage(dressed_message(message, dress), message)
    held = None if dress.wear.is_plain else dress.held(answer.blocks)
    return WholeAnswer(raw, shown_body, Heard(answer=answer, held=held))


async def _folded(backend: str, dress: Dress, dialect: Dialect, hints: Hints, within: float) -> WholeAnswer | Refused:
    """Read bare: a message is dressed when it is whole."""
    relay = dialect.relay(bare(dress), structs.replace(hints, keep=True))
    refused = await read_stream(relay, within, backend)
    if refused is not None:
        return refused
    answer = await Compute(relay.size, lambda: relay.answer(blocks=True))
    if answer.illegal is not None:
        raise answer.illegal
    if answer.broken_calls:
        raise BackendBroken(f"{backend}: {answer.broken_calls[0]}")
    whole = _dressed(relay.raw, answer.message, dress)
    return whole if relay.late is None else whole._replace(heard=with_late(whole.heard, relay.late))
