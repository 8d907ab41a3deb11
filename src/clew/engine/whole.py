"""Whole: an answer for a client that asked for one piece, however it comes.

Some servers stream, whatever was asked for. That is read with the strictness of any stream, and only what came to its end is
folded into the message that it tells.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec import structs

from clew.engine.aside import aside
from clew.engine.call import Kind
from clew.engine.dialects import Dialect, Hints, Refused
from clew.engine.failures import shown
from clew.engine.reading import MOST_BYTES, read_stream
from clew.engine.reply_type import JSON, STREAM, check_encoding, form_of, not_expected
from clew.engine.turns import Heard, with_late
from clew.errors import BackendBroken
from clew.model.json import JsonObject
from clew.pipeline.stream.answer import answer_of_message
from clew.pipeline.stream.dress import Dress, bare, dressed_message
from clew.pipeline.stream.rename import renamed
from clew.pipeline.stream.usage import with_usage
from clew.upstream.reply import Reply

__all__ = ["Whole", "hear_whole", "read_whole"]


class Whole(NamedTuple):
    """An answer in one piece: as it came, as the client gets it, and what it says."""

    raw: bytes
    shown: bytes
    heard: Heard


async def hear_whole(
    reply: Reply, dress: Dress, dialect: Dialect, hints: Hints, kind: Kind, *, first_content: float
) -> Whole | Refused:
    """`first_content`: how many seconds that may take, if it is a stream. Raises BackendError, StreamIllegal."""
    check_encoding(reply)
    comes = await form_of(reply)
    if comes == STREAM and kind == "messages":
        return await _folded(reply, dress, dialect, hints, first_content)
    if comes != JSON:
        raise await not_expected(reply, "JSON")
    raw = await reply.read(most=MOST_BYTES)
    found = read_whole(raw, dress, dialect, hints, kind)
    if found is None:
        raise BackendBroken(f"{reply.endpoint}: an answer that is none: {shown(raw) or 'nothing'}")
    return found


def read_whole(raw: bytes, dress: Dress, dialect: Dialect, hints: Hints, kind: Kind) -> Whole | Refused | None:
    """None if it is no answer at all."""
    message = dialect.message(raw, hints, kind)
    if message is None or isinstance(message, Refused):
        return message
    if dress.wear.is_plain and not dialect.translates:
        answer = answer_of_message(message)
        shown_body = raw if answer.model == dress.wear.model else renamed(raw, dress.wear.model)
        told = with_usage(shown_body, message) if kind == "messages" else shown_body
        return Whole(raw, told, Heard(answer=answer))
    return _dressed(raw, message, dress)


def _dressed(raw: bytes, message: JsonObject, dress: Dress) -> Whole:
    answer, shown_body = answer_of_message(message), with_usage(dressed_message(message, dress), message)
    held = None if dress.wear.is_plain else dress.held(answer.blocks)
    return Whole(raw, shown_body, Heard(answer=answer, held=held))


async def _folded(reply: Reply, dress: Dress, dialect: Dialect, hints: Hints, first_content: float) -> Whole | Refused:
    """Read bare: a message is dressed when it is whole."""
    relay = dialect.relay(bare(dress), structs.replace(hints, keep=True))
    refused = await read_stream(reply, relay, first_content)
    if refused is not None:
        return refused
    answer = await aside(relay.size, lambda: relay.answer(blocks=True))
    if answer.illegal is not None:
        raise answer.illegal
    if answer.broken_calls:
        raise BackendBroken(f"{reply.endpoint}: {answer.broken_calls[0]}")
    whole = _dressed(relay.raw, answer.message, dress)
    return whole if relay.late is None else whole._replace(heard=with_late(whole.heard, relay.late))
